"""Plot how far more states, the second order and two layers are learnt over training."""

import pandas as pd
from matplotlib.figure import Figure

from onelayer.figures import draw
from onelayer.papers.local_to_global import open_problem_figures
from onelayer.settings.local_to_global import OpenProblemsShownSettings
from onelayer.step import Step


def main(step: Step) -> Figure:
    curves = pd.read_parquet(step.inputs.curves)
    return open_problem_figures.way_closed(curves, step.settings.sources)


if __name__ == "__main__":
    draw(main, settings=OpenProblemsShownSettings, inputs=["curves"])
