"""Train from near-zero matrices and keep the norms of W_K, W_Q and W_V after every step."""

from onelayer.compute.execution import execution_of
from onelayer.papers.topic_structure.synthetic.norms import two_stages
from onelayer.run.step import Step, run
from onelayer.settings.block import Device, Threads
from onelayer.settings.topic_structure_synthetic import TopicModelSettings, TwoStageSettings


def main(
    step: Step,
    model: TopicModelSettings,
    stages: TwoStageSettings,
    batch: int,
    chunk: int,
    device: Device,
    threads: Threads,
) -> None:
    execution = execution_of(step, step.outputs.norms)
    norms = two_stages(model, stages, batch, chunk, execution)
    norms.to_parquet(step.outputs.norms, index=False)


if __name__ == "__main__":
    run(main, outputs=["norms"])
