"""Plot ratio against threshold, ours with intervals beside the published values."""

from matplotlib.figure import Figure

from onelayer.figures import draw
from onelayer.papers.topic_structure import figures, wikipedia
from onelayer.settings.topic_structure import FigureSettings
from onelayer.step import Step


def main(step: Step) -> Figure:
    models = {model.name: model.settings for model in step.settings.models}
    measures = wikipedia.measures_by_model(models, step.inputs.attention, step.inputs.embeddings)
    published = wikipedia.read_published(step.inputs.published)
    return figures.ratios(measures, models, step.settings.ambiguity, published)


if __name__ == "__main__":
    draw(main, settings=FigureSettings, inputs=["attention*", "embeddings*", "published"])
