"""Train W_V alone and the embeddings alone under uniform attention; also solve them exactly."""

import numpy as np

from onelayer.compute.execution import execution_of
from onelayer.papers.topic_structure.synthetic.gaps import uniform_attention
from onelayer.run.step import Step, program
from onelayer.settings import topic_structure_synthetic as synthetic


@program(settings=synthetic.SyntheticTraining, outputs="gaps matrices")
def main(
    step: Step, theory: synthetic.TheorySettings, components: synthetic.ComponentSettings
) -> None:
    gaps, matrices = uniform_attention(step.settings, theory, components, execution_of(step))
    step.write(gaps=gaps)
    np.savez_compressed(step.outputs.matrices, allow_pickle=False, **matrices)
