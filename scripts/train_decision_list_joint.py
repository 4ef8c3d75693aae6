"""Train W and V together on decision lists: near V = cP, and from small random starts."""

from onelayer.papers.decision_lists.joint import near_runs, small_runs
from onelayer.run.step import Step, run
from onelayer.settings.decision_lists import JointSettings


def main(step: Step) -> None:
    near_runs(step.settings.near, step.progress).to_parquet(step.outputs.near)
    small, history = small_runs(step.settings.small, step.progress)
    small.to_parquet(step.outputs.small)
    history.to_parquet(step.outputs.small_history)


if __name__ == "__main__":
    run(main, settings=JointSettings, outputs=["near", "small", "small_history"])
