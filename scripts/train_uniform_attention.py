"""Train W_V alone and the embeddings alone under uniform attention; also solve them exactly."""

import numpy as np

from onelayer.compute.execution import execution_of
from onelayer.papers.topic_structure.synthetic.gaps import uniform_attention
from onelayer.run.step import Step, run
from onelayer.settings.block import Device, Threads
from onelayer.settings.topic_structure_synthetic import (
    ComponentSettings,
    TheorySettings,
    TopicModelSettings,
)


def main(
    step: Step,
    model: TopicModelSettings,
    theory: TheorySettings,
    components: ComponentSettings,
    batch: int,
    chunk: int,
    device: Device,
    threads: Threads,
) -> None:
    execution = execution_of(step, step.outputs.gaps)
    gaps, matrices = uniform_attention(model, theory, components, batch, chunk, execution)
    gaps.to_parquet(step.outputs.gaps, index=False)
    with open(step.outputs.matrices, "wb") as file:
        np.savez_compressed(file, allow_pickle=False, **matrices)


if __name__ == "__main__":
    run(main, outputs=["gaps", "matrices"])
