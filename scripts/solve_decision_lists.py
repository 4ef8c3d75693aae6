"""Solve the reduced flow of decision lists: time to perfect classification, exactly."""

from onelayer.papers.decision_lists.reduced import follow, solve_grids
from onelayer.run.step import Step, program
from onelayer.settings.decision_lists import Size, Theorem1Settings


@program(outputs="solved followed")
def main(step: Step, theorem_1: Theorem1Settings, shown: list[Size]) -> None:
    solved = solve_grids(theorem_1, shown, step.progress)
    step.write(solved=solved, followed=follow(shown, theorem_1.max_steps))
