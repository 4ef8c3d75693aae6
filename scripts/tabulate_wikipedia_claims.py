"""Tabulate the paper's two directions on Wikipedia: differences of ratios, ours beside theirs."""

from onelayer.papers.topic_structure import wikipedia
from onelayer.settings.topic_structure import WikipediaTableSettings
from onelayer.step import Step, run
from onelayer.tables import write_table

TITLE = "Topic structure on Wikipedia: the two directions of the paper"
NOTES = [
    "A positive difference is the paper's direction. The interval resamples the same documents on "
    "both sides of a difference; it excludes 0 where the verdict is 'direction'."
]


def main(step: Step) -> None:
    settings = step.settings
    models = {model.name: model.settings for model in settings.models}
    table = wikipedia.claims(
        wikipedia.measures_by_model(models, step.inputs.attention),
        models,
        settings.ambiguity,
        wikipedia.read_published(step.inputs.published),
    )
    write_table(table, wikipedia.readable_claims(table), TITLE, NOTES, **vars(step.outputs))


if __name__ == "__main__":
    run(
        main,
        settings=WikipediaTableSettings,
        inputs=["attention*", "published"],
        outputs=["csv", "md", "tex", "html"],
    )
