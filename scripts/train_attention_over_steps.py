"""Train the attention of the published table for longer, and average it on the way."""

from onelayer.compute.execution import execution_of
from onelayer.papers.topic_structure.synthetic.trained_attention import attention_over_steps
from onelayer.run.step import Step, run
from onelayer.settings.block import Device, Threads
from onelayer.settings.topic_structure_synthetic import (
    AttentionTableSettings,
    OptimizerKind,
    OverStepsSettings,
    TopicModelSettings,
)


def main(
    step: Step,
    model: TopicModelSettings,
    attention: AttentionTableSettings,
    longer: OverStepsSettings,
    optimizer: OptimizerKind,
    released_steps: int,
    batch: int,
    chunk: int,
    device: Device,
    threads: Threads,
) -> None:
    execution = execution_of(step, step.outputs.averages)
    averages = attention_over_steps(
        model, attention, longer, optimizer, released_steps, batch, chunk, execution
    )
    averages.to_parquet(step.outputs.averages, index=False)


if __name__ == "__main__":
    run(main, outputs=["averages"])
