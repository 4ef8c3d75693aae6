"""Plot the optimal and the trained same-topic ratio of stage 2 against tau."""

import pandas as pd

from onelayer.figures import house_style, save
from onelayer.papers.topic_structure.synthetic import stage_figures
from onelayer.settings.topic_structure_synthetic import PresentationSettings
from onelayer.step import Step, run


def main(step: Step) -> None:
    with house_style():
        figure = stage_figures.stage_two_ratio(pd.read_parquet(step.inputs.ratios), step.settings.T)
        save(figure, step.outputs.pdf, step.outputs.png)


if __name__ == "__main__":
    run(main, settings=PresentationSettings, inputs=["ratios"], outputs=["pdf", "png"])
