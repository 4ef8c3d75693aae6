"""Plot V trained alone under uniform attention."""

import pandas as pd
from matplotlib.figure import Figure

from onelayer.figures import draw
from onelayer.papers.decision_lists import value_figures
from onelayer.step import Step


def main(step: Step) -> Figure:
    inputs = step.inputs
    tables = map(pd.read_parquet, (inputs.history, inputs.ceilings, inputs.values))
    return value_figures.value_from_uniform_attention(*tables)


if __name__ == "__main__":
    draw(main, inputs=["history", "ceilings", "values"])
