"""Solve the reduced flow of decision lists: time to perfect classification, exactly."""

from onelayer.papers.decision_lists.sweep import follow, solve_grids
from onelayer.settings.decision_lists import ReducedFlowSettings
from onelayer.step import Step, run


def main(step: Step) -> None:
    solve_grids(step.settings, step.progress).to_parquet(step.outputs.solved)
    follow(step.settings).to_parquet(step.outputs.followed)


if __name__ == "__main__":
    run(main, settings=ReducedFlowSettings, outputs=["solved", "followed"])
