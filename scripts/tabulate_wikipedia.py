"""Tabulate the probe of pretrained models on Wikipedia, ours beside the published numbers."""

from onelayer.papers.topic_structure import wikipedia
from onelayer.settings.topic_structure import WikipediaTableSettings
from onelayer.step import Step
from onelayer.tables import Report, tabulate


def main(step: Step) -> Report:
    settings, inputs = step.settings, step.inputs
    models = [model.name for model in settings.models]
    return wikipedia.report(
        wikipedia.measures_by_model(models, inputs.attention, inputs.embeddings),
        settings.all_models,
        settings.ambiguity,
        wikipedia.read_published(inputs.published),
        settings.overlap,
    )


if __name__ == "__main__":
    tabulate(
        main, settings=WikipediaTableSettings, inputs=["attention*", "embeddings*", "published"]
    )
