"""Plot the gap over v, T, p_m, p_c, tau and d beside the theorems'."""

import pandas as pd
from matplotlib.figure import Figure

from onelayer.figures import draw
from onelayer.papers.topic_structure.synthetic import claim_figures
from onelayer.step import Step


def main(step: Step) -> Figure:
    return claim_figures.gap_grid(pd.read_parquet(step.inputs.gaps))


if __name__ == "__main__":
    draw(main, inputs=["gaps"])
