"""Plot the ratios of pretrained models against tokens seen."""

from onelayer.figures import house_style, save
from onelayer.papers.topic_structure import over_tokens, pretraining_figures
from onelayer.settings.topic_structure import PretrainedTableSettings
from onelayer.step import Step, run


def main(step: Step) -> None:
    published_as = {model.name: model.settings.published_as for model in step.settings.models}
    table = over_tokens.assemble(over_tokens.read_measures(published_as, step.inputs.measures))
    with house_style():
        save(pretraining_figures.figure_over_tokens(table, published_as), **vars(step.outputs))


if __name__ == "__main__":
    run(
        main,
        settings=PretrainedTableSettings,
        inputs=["measures*"],
        outputs=["pdf", "png"],
    )
