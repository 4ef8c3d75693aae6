"""Train W and V together on decision lists: near V = cP, and from small random starts."""

from onelayer.papers.decision_lists.joint import near_runs, small_runs
from onelayer.run.step import Step, program
from onelayer.settings.decision_lists import JointSettings


@program(settings=JointSettings, outputs="near small small_history")
def main(step: Step) -> None:
    near = near_runs(step.settings.near, step.progress)
    small, history = small_runs(step.settings.small, step.progress)
    step.write(near=near, small=small, small_history=history)
