"""Plot the losses of every pretraining against tokens seen."""

from matplotlib.figure import Figure

from onelayer.figures import draw
from onelayer.papers.topic_structure import losses, pretraining_figures
from onelayer.settings.topic_structure import PretrainedTableSettings
from onelayer.step import Step


def main(step: Step) -> Figure:
    models = step.settings.models
    histories = losses.read_histories(losses.trainings(models), step.inputs.histories)
    published_as = {model.name: model.settings.published_as for model in models}
    return pretraining_figures.figure_losses(histories, published_as)


if __name__ == "__main__":
    draw(main, settings=PretrainedTableSettings, inputs=["histories*"])
