"""Plot the ratios of pretrained models against tokens seen."""

from matplotlib.figure import Figure

from onelayer.figures import draw
from onelayer.papers.topic_structure import over_tokens, pretraining_figures
from onelayer.settings.topic_structure import PretrainedTableSettings
from onelayer.step import Step


def main(step: Step) -> Figure:
    models = {model.name: model.settings for model in step.settings.models}
    table = over_tokens.assemble(over_tokens.read_measures(models, step.inputs.measures), models)
    return pretraining_figures.figure_over_tokens(table, models)


if __name__ == "__main__":
    draw(main, settings=PretrainedTableSettings, inputs=["measures*"])
