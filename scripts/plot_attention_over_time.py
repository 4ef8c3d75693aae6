"""Plot entropy, sparsity and attention by token frequency over each training on real text."""

import pandas as pd

from onelayer.figures import house_style, save
from onelayer.papers.scan_snap import text_figures
from onelayer.papers.scan_snap.text import uniform_entropy
from onelayer.settings.scan_snap import TextFigureSettings
from onelayer.step import Step, run


def main(step: Step) -> None:
    settings = step.settings
    measures = [pd.read_parquet(path) for path in step.inputs.measures]
    with house_style():
        trainings = dict(zip(settings.trainings, measures, strict=True))
        figure = text_figures.attention_over_time(trainings, uniform_entropy(settings.length))
        save(figure, **vars(step.outputs))


if __name__ == "__main__":
    run(main, settings=TextFigureSettings, inputs=["measures*"], outputs=["pdf", "png"])
