"""Solve the reduced flow of decision lists: time to perfect classification, exactly."""

from onelayer.papers.decision_lists.reduced import follow, solve_grids
from onelayer.run.step import Step, run
from onelayer.settings.decision_lists import Size, Theorem1Settings


def main(step: Step, theorem_1: Theorem1Settings, shown: list[Size]) -> None:
    solve_grids(theorem_1, shown, step.progress).to_parquet(step.outputs.solved)
    follow(shown, theorem_1.max_steps).to_parquet(step.outputs.followed)


if __name__ == "__main__":
    run(main, outputs=["solved", "followed"])
