"""Train in two stages and keep the norms of gradients of W_K, W_Q and W_V over steps."""

from onelayer.execution import execution_of
from onelayer.papers.topic_structure.synthetic.stage_gradients import stage_gradients
from onelayer.settings.topic_structure_synthetic import StageGradientsRun
from onelayer.step import Step, run


def main(step: Step) -> None:
    execution = execution_of(step, step.outputs.gradients)
    stage_gradients(step.settings, execution).to_parquet(step.outputs.gradients, index=False)


if __name__ == "__main__":
    run(main, settings=StageGradientsRun, outputs=["gradients"])
