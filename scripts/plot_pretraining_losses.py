"""Plot the losses of every pretraining against tokens seen."""

from onelayer.figures import house_style, save
from onelayer.papers.topic_structure import losses, pretraining_figures
from onelayer.settings.topic_structure import PretrainedTableSettings
from onelayer.step import Step, run


def main(step: Step) -> None:
    models = step.settings.models
    histories = losses.read_histories(losses.trainings(models), step.inputs.histories)
    published_as = {model.name: model.settings.published_as for model in models}
    with house_style():
        save(pretraining_figures.figure_losses(histories, published_as), **vars(step.outputs))


if __name__ == "__main__":
    run(
        main,
        settings=PretrainedTableSettings,
        inputs=["histories*"],
        outputs=["pdf", "png"],
    )
