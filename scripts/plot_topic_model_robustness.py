"""Plot the ratios, and the quality of the topics, against the topic model."""

import pandas as pd
from matplotlib.figure import Figure

from onelayer.figures import draw
from onelayer.papers.topic_structure.robustness_figure import topic_models
from onelayer.papers.topic_structure.wikipedia import measures_by_model
from onelayer.settings.topic_structure import RobustnessTableSettings
from onelayer.step import Step


def main(step: Step) -> Figure:
    models = {model.name: model.settings for model in step.settings.models}
    quality = pd.concat([pd.read_parquet(path) for path in step.inputs.quality])
    measures = measures_by_model(models, step.inputs.measures)
    return topic_models(measures, quality, models, step.settings.robustness)


if __name__ == "__main__":
    draw(main, settings=RobustnessTableSettings, inputs=["quality*", "measures*"])
