"""Plot loss and accuracy of decision lists against time, W only."""

import pandas as pd
from matplotlib.figure import Figure

from onelayer.figures import draw
from onelayer.papers.decision_lists import figures
from onelayer.settings.decision_lists import ShownSettings, size_of
from onelayer.step import Step


def main(step: Step) -> Figure:
    inputs = step.inputs
    tables = map(pd.read_parquet, (inputs.history, inputs.runs, inputs.followed))
    return figures.accuracy_over_time(*tables, [size_of(size) for size in step.settings.shown])


if __name__ == "__main__":
    draw(main, settings=ShownSettings, inputs=["history", "runs", "followed"])
