"""Plot loss and accuracy of decision lists against time, W only."""

import pandas as pd

from onelayer.figures import house_style, save
from onelayer.papers.decision_lists import figures
from onelayer.settings.decision_lists import ShownSettings, size_of
from onelayer.step import Step, run


def main(step: Step) -> None:
    history = pd.read_parquet(step.inputs.history)
    runs = pd.read_parquet(step.inputs.runs)
    followed = pd.read_parquet(step.inputs.followed)
    sizes = [size_of(size) for size in step.settings.shown]
    with house_style():
        save(figures.accuracy_over_time(history, runs, followed, sizes), **vars(step.outputs))


if __name__ == "__main__":
    run(
        main,
        settings=ShownSettings,
        inputs=["history", "runs", "followed"],
        outputs=["pdf", "png"],
    )
