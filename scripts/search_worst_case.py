"""Search for the lists and distributions of decision lists nearest to Theorem 1's bound."""

from onelayer.papers.decision_lists.worst_case import search
from onelayer.run.step import Step, program
from onelayer.settings.decision_lists import WorstCaseSettings


@program(outputs="found")
def main(step: Step, worst_case: WorstCaseSettings) -> None:
    step.write(found=search(worst_case, step.progress))
