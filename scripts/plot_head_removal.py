"""Plot how much worse words are predicted without the heads of the largest ratios, and others."""

from matplotlib.figure import Figure

from onelayer.figures import draw
from onelayer.papers.topic_structure import head_removal
from onelayer.papers.topic_structure.head_removal_figure import figure_removal
from onelayer.papers.topic_structure.over_tokens import read_measures
from onelayer.settings.topic_structure import HeadRemovalTableSettings
from onelayer.step import Step


def main(step: Step) -> Figure:
    models = {model.name: model.settings for model in step.settings.models}
    losses = read_measures(models, step.inputs.losses)
    table = head_removal.assemble(losses, models, step.settings.uncertainty)
    return figure_removal(table, head_removal.reasons(losses))


if __name__ == "__main__":
    draw(main, settings=HeadRemovalTableSettings, inputs=["losses*"])
