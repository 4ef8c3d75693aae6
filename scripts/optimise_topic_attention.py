"""Find the optimal attention for a frozen W_V against tau, and train W_K and W_Q towards it."""

from onelayer.compute.execution import execution_of
from onelayer.papers.topic_structure.synthetic.stage_two import ratio_over_tau
from onelayer.run.step import Step, run
from onelayer.settings.block import Device, Threads
from onelayer.settings.topic_structure_synthetic import StageTwoSettings, TopicModelSettings


def main(
    step: Step,
    model: TopicModelSettings,
    stage_two: StageTwoSettings,
    batch: int,
    chunk: int,
    device: Device,
    threads: Threads,
) -> None:
    execution = execution_of(step, step.outputs.ratios)
    ratios = ratio_over_tau(model, stage_two, batch, chunk, execution)
    ratios.to_parquet(step.outputs.ratios, index=False)


if __name__ == "__main__":
    run(main, outputs=["ratios"])
