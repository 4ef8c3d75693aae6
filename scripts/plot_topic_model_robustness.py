"""Plot the ratios, and the quality of the topics, against the topic model."""

import pandas as pd

from onelayer.figures import house_style, save
from onelayer.papers.topic_structure.robustness_figure import topic_models
from onelayer.papers.topic_structure.wikipedia import measures_by_model
from onelayer.settings.topic_structure import RobustnessTableSettings
from onelayer.step import Step, run


def main(step: Step) -> None:
    models = {model.name: model.settings for model in step.settings.models}
    quality = pd.concat([pd.read_parquet(path) for path in step.inputs.quality])
    measures = measures_by_model(models, step.inputs.measures)
    with house_style():
        figure = topic_models(measures, quality, models, step.settings.robustness)
        save(figure, **vars(step.outputs))


if __name__ == "__main__":
    run(
        main,
        settings=RobustnessTableSettings,
        inputs=["quality*", "measures*"],
        outputs=["pdf", "png"],
    )
