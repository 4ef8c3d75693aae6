"""Train the attention of the published table, and average it by pair class."""

import numpy as np

from onelayer.compute.execution import execution_of
from onelayer.papers.topic_structure.synthetic.trained_attention import topic_attention
from onelayer.run.step import Step, run
from onelayer.settings.block import Device, Name, Threads
from onelayer.settings.topic_structure_synthetic import (
    AttentionTableSettings,
    TopicModelSettings,
)


def main(
    step: Step,
    model: TopicModelSettings,
    attention: AttentionTableSettings,
    variant: Name,
    batch: int,
    chunk: int,
    device: Device,
    threads: Threads,
) -> None:
    execution = execution_of(step, step.outputs.averages)
    averages, matrices = topic_attention(model, attention, variant, batch, chunk, execution)
    averages.to_parquet(step.outputs.averages, index=False)
    with open(step.outputs.matrices, "wb") as file:
        np.savez_compressed(file, allow_pickle=False, **matrices)


if __name__ == "__main__":
    run(main, outputs=["averages", "matrices"])
