"""Train in two stages and keep the norms of gradients of W_K, W_Q and W_V over steps."""

from onelayer.compute.execution import execution_of
from onelayer.papers.topic_structure.synthetic.norms import stage_gradients
from onelayer.run.step import Step, run
from onelayer.settings.block import Device, Threads
from onelayer.settings.topic_structure_synthetic import (
    StageGradientsSettings,
    TopicModelSettings,
    TwoStageSettings,
)


def main(
    step: Step,
    model: TopicModelSettings,
    stages: TwoStageSettings,
    followed: StageGradientsSettings,
    batch: int,
    chunk: int,
    device: Device,
    threads: Threads,
) -> None:
    execution = execution_of(step, step.outputs.gradients)
    gradients = stage_gradients(model, stages, followed, batch, chunk, execution)
    gradients.to_parquet(step.outputs.gradients, index=False)


if __name__ == "__main__":
    run(main, outputs=["gradients"])
