"""Plot the entropy of attention over a fine grid of learning rates."""

import pandas as pd
from matplotlib.figure import Figure

from onelayer.figures import draw
from onelayer.papers.scan_snap import figures
from onelayer.settings.scan_snap import IterationSettings
from onelayer.step import Step


def main(step: Step) -> Figure:
    return figures.phase_map(pd.read_parquet(step.inputs.attention), step.settings.iterations)


if __name__ == "__main__":
    draw(main, settings=IterationSettings, inputs=["attention"])
