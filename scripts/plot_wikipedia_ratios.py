"""Plot ratio against threshold, ours with intervals beside the published values."""

from onelayer.figures import house_style, save
from onelayer.papers.topic_structure import figures, wikipedia
from onelayer.settings.topic_structure import FigureSettings
from onelayer.step import Step, run


def main(step: Step) -> None:
    settings = step.settings
    models = {model.name: model.settings for model in settings.models}
    measures = wikipedia.measures_by_model(models, step.inputs.attention, step.inputs.embeddings)
    published = wikipedia.read_published(step.inputs.published)
    with house_style():
        figure = figures.ratios(measures, models, settings.ambiguity, published)
        save(figure, **vars(step.outputs))


if __name__ == "__main__":
    run(
        main,
        settings=FigureSettings,
        inputs=["attention*", "embeddings*", "published"],
        outputs=["pdf", "png"],
    )
