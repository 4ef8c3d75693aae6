"""Plot the attention ratio of every layer and head."""

from onelayer.figures import house_style, save
from onelayer.papers.topic_structure import figures, wikipedia
from onelayer.settings.topic_structure import FigureSettings
from onelayer.step import Step, run


def main(step: Step) -> None:
    models = [model.name for model in step.settings.models]
    ratios = wikipedia.measures_by_model(models, step.inputs.heads)
    with house_style():
        save(figures.heads(ratios, step.settings.ambiguity), **vars(step.outputs))


if __name__ == "__main__":
    run(main, settings=FigureSettings, inputs=["heads*"], outputs=["pdf", "png"])
