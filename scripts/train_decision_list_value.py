"""Train V alone on decision lists, under uniform attention (W = 0)."""

from onelayer.papers.decision_lists.joint import value_runs
from onelayer.run.step import Step, program
from onelayer.settings.decision_lists import ValueSettings


@program(settings=ValueSettings, outputs="history ceilings values")
def main(step: Step) -> None:
    history, ceilings, values = value_runs(step.settings, step.progress)
    step.write(history=history, ceilings=ceilings, values=values)
