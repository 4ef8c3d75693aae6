"""Tabulate the probe of pretrained models on Wikipedia, ours beside the published numbers."""

from onelayer.papers.topic_structure import wikipedia
from onelayer.settings.topic_structure import WikipediaTableSettings
from onelayer.step import Step, run
from onelayer.tables import write_table


def main(step: Step) -> None:
    settings = step.settings
    models = {model.name: model.settings for model in settings.models}
    table = wikipedia.assemble(
        wikipedia.measures_by_model(models, step.inputs.attention, step.inputs.embeddings),
        models,
        settings.ambiguity,
        wikipedia.read_published(step.inputs.published),
        settings.overlap,
    )
    title = f"Topic structure on Wikipedia, {settings.overlap} topics: same-topic / different-topic"
    shown, notes = wikipedia.readable(table), wikipedia.reader_notes(table, models)
    write_table(table, shown, title, notes, **vars(step.outputs))


if __name__ == "__main__":
    run(
        main,
        settings=WikipediaTableSettings,
        inputs=["attention*", "embeddings*", "published"],
        outputs=["csv", "md", "tex", "html"],
    )
