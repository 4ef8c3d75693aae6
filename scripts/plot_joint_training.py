"""Plot W and V trained together: near V = cP, and from small random starts."""

import pandas as pd
from matplotlib.figure import Figure

from onelayer.figures import draw
from onelayer.papers.decision_lists import value_figures
from onelayer.step import Step


def main(step: Step) -> Figure:
    inputs = step.inputs
    tables = map(pd.read_parquet, (inputs.near, inputs.small, inputs.small_history))
    return value_figures.joint_training(*tables)


if __name__ == "__main__":
    draw(main, inputs=["near", "small", "small_history"])
