"""Plot entropy, sparsity and attention by token frequency over each training on real text."""

import pandas as pd
from matplotlib.figure import Figure

from onelayer.figures import draw
from onelayer.papers.scan_snap import text_figures
from onelayer.papers.scan_snap.text import uniform_entropy
from onelayer.settings.scan_snap import TextFigureSettings
from onelayer.step import Step


def main(step: Step) -> Figure:
    measures = map(pd.read_parquet, step.inputs.measures)
    trainings = dict(zip(step.settings.trainings, measures, strict=True))
    return text_figures.attention_over_time(trainings, uniform_entropy(step.settings.length))


if __name__ == "__main__":
    draw(main, settings=TextFigureSettings, inputs=["measures*"])
