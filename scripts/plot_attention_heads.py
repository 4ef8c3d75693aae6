"""Plot the attention ratio of every layer and head, and of all together."""

from matplotlib.figure import Figure

from onelayer.figures import draw
from onelayer.papers.topic_structure import figures, wikipedia
from onelayer.settings.topic_structure import FigureSettings
from onelayer.step import Step


def main(step: Step) -> Figure:
    models = {model.name: model.settings for model in step.settings.models}
    ratios = wikipedia.measures_by_model(models, step.inputs.heads)
    measures = wikipedia.measures_by_model(models, step.inputs.attention)
    return figures.heads(ratios, measures, models, step.settings.ambiguity)


if __name__ == "__main__":
    draw(main, settings=FigureSettings, inputs=["heads*", "attention*"])
