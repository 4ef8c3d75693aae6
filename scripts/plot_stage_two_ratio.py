"""Plot the optimal and the trained same-topic ratio of stage 2 against tau."""

import pandas as pd
from matplotlib.figure import Figure

from onelayer.figures import draw
from onelayer.papers.topic_structure.synthetic import stage_figures
from onelayer.settings.topic_structure_synthetic import RatioFigureSettings
from onelayer.step import Step


def main(step: Step) -> Figure:
    return stage_figures.stage_two_ratio(pd.read_parquet(step.inputs.ratios), step.settings.T)


if __name__ == "__main__":
    draw(main, settings=RatioFigureSettings, inputs=["ratios"])
