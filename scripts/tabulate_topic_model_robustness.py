"""Tabulate the ratios under every topic model, means over seeds, and what makes them differ."""

import pandas as pd

from onelayer.papers.topic_structure import robustness
from onelayer.papers.topic_structure.wikipedia import measures_by_model
from onelayer.settings.topic_structure import RobustnessTableSettings
from onelayer.step import Step
from onelayer.tables import Report, tabulate


def main(step: Step) -> Report:
    models = {model.name: model.settings for model in step.settings.models}
    quality = pd.concat([pd.read_parquet(path) for path in step.inputs.quality])
    measures = measures_by_model(models, step.inputs.measures)
    return robustness.report(measures, quality, models, step.settings.robustness)


if __name__ == "__main__":
    tabulate(main, settings=RobustnessTableSettings, inputs=["quality*", "measures*"])
