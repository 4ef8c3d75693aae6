"""Plot attention of one sequence class over training: one seed, all seeds, gains, speed."""

import pandas as pd
from matplotlib.figure import Figure

from onelayer.figures import draw
from onelayer.papers.scan_snap import figures
from onelayer.settings.scan_snap import IterationSettings
from onelayer.step import Step


def main(step: Step) -> Figure:
    return figures.scan(pd.read_parquet(step.inputs.attention), step.settings.iterations)


if __name__ == "__main__":
    draw(main, settings=IterationSettings, inputs=["attention"])
