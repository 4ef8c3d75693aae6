"""Train the full matrix W on decision lists, V = cP: population flow, sampled flow, SGD."""

from onelayer.compute.execution import execution_of
from onelayer.papers.decision_lists.attention import train_runs
from onelayer.run.step import Step, program
from onelayer.settings.decision_lists import AttentionSettings


@program(settings=AttentionSettings, outputs="runs history scores")
def main(step: Step) -> None:
    runs, history, scores = train_runs(step.settings, execution_of(step))
    step.write(runs=runs, history=history, scores=scores)
