"""Plot the scores W in list order, and the staircase of learning times."""

import pandas as pd
from matplotlib.figure import Figure

from onelayer.figures import draw
from onelayer.papers.decision_lists import figures
from onelayer.settings.decision_lists import ShownSettings, size_of
from onelayer.step import Step


def main(step: Step) -> Figure:
    inputs = step.inputs
    tables = map(pd.read_parquet, (inputs.scores, inputs.followed, inputs.solved))
    return figures.attention_order(*tables, size_of(step.settings.shown[0]))


if __name__ == "__main__":
    draw(main, settings=ShownSettings, inputs=["scores", "followed", "solved"])
