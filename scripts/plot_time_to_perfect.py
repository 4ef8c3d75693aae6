"""Plot the time to perfect classification against the vocabulary, with Theorem 1's bound."""

import pandas as pd
from matplotlib.figure import Figure

from onelayer.figures import draw
from onelayer.papers.decision_lists import figures
from onelayer.step import Step


def main(step: Step) -> Figure:
    return figures.time_to_perfect(pd.read_parquet(step.inputs.solved))


if __name__ == "__main__":
    draw(main, inputs=["solved"])
