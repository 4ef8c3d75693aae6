"""Plot the entropy of attention against learning rates, ours and published."""

import pandas as pd
from matplotlib.figure import Figure

from onelayer.figures import draw
from onelayer.papers.scan_snap import entropy_sweep, figures
from onelayer.settings.scan_snap import IterationSettings
from onelayer.step import Step


def main(step: Step) -> Figure:
    cells = entropy_sweep.cells(pd.read_parquet(step.inputs.attention), step.settings.iterations)
    return figures.entropy_sweep(cells, entropy_sweep.read_published(step.inputs.published))


if __name__ == "__main__":
    draw(main, settings=IterationSettings, inputs=["attention", "published"])
