"""Take a context-free language, well-nested brackets, through the three stages of topics."""

from onelayer.compute.execution import execution_of
from onelayer.papers.topic_structure.synthetic.dyck import dyck
from onelayer.run.step import Step, run
from onelayer.settings.block import Device, Threads
from onelayer.settings.topic_structure_synthetic import DyckSettings, TopicModelSettings


def main(
    step: Step,
    model: TopicModelSettings,
    brackets: DyckSettings,
    batch: int,
    chunk: int,
    device: Device,
    threads: Threads,
) -> None:
    found, norms = dyck(model, brackets, batch, chunk, execution_of(step, step.outputs.found))
    found.to_parquet(step.outputs.found, index=False)
    norms.to_parquet(step.outputs.norms, index=False)


if __name__ == "__main__":
    run(main, outputs=["found", "norms"])
