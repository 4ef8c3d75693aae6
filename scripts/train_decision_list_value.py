"""Train V alone on decision lists, under uniform attention (W = 0)."""

from onelayer.papers.decision_lists.joint import value_runs
from onelayer.run.step import Step, run
from onelayer.settings.decision_lists import ValueSettings


def main(step: Step) -> None:
    history, ceilings, values = value_runs(step.settings, step.progress)
    history.to_parquet(step.outputs.history)
    ceilings.to_parquet(step.outputs.ceilings)
    values.to_parquet(step.outputs.values)


if __name__ == "__main__":
    run(main, settings=ValueSettings, outputs=["history", "ceilings", "values"])
