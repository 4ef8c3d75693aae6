"""Train the attention of the published table, and average it by pair class."""

import numpy as np

from onelayer.compute.execution import execution_of
from onelayer.papers.topic_structure.synthetic.trained_attention import topic_attention
from onelayer.run.step import Step, program
from onelayer.settings.block import Name
from onelayer.settings.topic_structure_synthetic import AttentionTableSettings, SyntheticTraining


@program(settings=SyntheticTraining, outputs="averages matrices")
def main(step: Step, attention: AttentionTableSettings, variant: Name) -> None:
    averages, matrices = topic_attention(step.settings, attention, variant, execution_of(step))
    step.write(averages=averages)
    np.savez_compressed(step.outputs.matrices, allow_pickle=False, **matrices)
