"""Plot the entropy of attention over a fine grid of learning rates, with the published cells."""

import pandas as pd
from matplotlib.figure import Figure

from onelayer.figures import draw
from onelayer.papers.scan_snap import entropy_sweep, figures
from onelayer.settings.scan_snap import IterationSettings
from onelayer.step import Step


def main(step: Step) -> Figure:
    published = entropy_sweep.read_published(step.inputs.published)
    attention = pd.read_parquet(step.inputs.attention)
    return figures.phase_map(attention, published, step.settings.iterations)


if __name__ == "__main__":
    draw(main, settings=IterationSettings, inputs=["attention", "published"])
