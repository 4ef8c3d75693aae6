"""Train the full matrix W on decision lists, V = cP: population flow, sampled flow, SGD."""

from onelayer.compute.execution import execution_of
from onelayer.papers.decision_lists.attention import train_runs
from onelayer.run.step import Step, run
from onelayer.settings.decision_lists import AttentionSettings


def main(step: Step) -> None:
    runs, history, scores = train_runs(step.settings, execution_of(step, step.outputs.runs))
    runs.to_parquet(step.outputs.runs)
    history.to_parquet(step.outputs.history)
    scores.to_parquet(step.outputs.scores)


if __name__ == "__main__":
    run(main, settings=AttentionSettings, outputs=["runs", "history", "scores"])
