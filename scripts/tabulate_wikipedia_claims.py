"""Tabulate the paper's two directions on Wikipedia: differences of ratios, ours beside theirs."""

from onelayer.papers.topic_structure import wikipedia
from onelayer.settings.topic_structure import WikipediaTableSettings
from onelayer.step import Step
from onelayer.tables import Report, tabulate


def main(step: Step) -> Report:
    settings = step.settings
    models = [model.name for model in settings.models]
    measures = wikipedia.measures_by_model(models, step.inputs.attention)
    published = wikipedia.read_published(step.inputs.published)
    table = wikipedia.claims(measures, settings.all_models, settings.ambiguity, published)
    shown = wikipedia.readable_claims(table)
    return Report(table, shown, wikipedia.CLAIMS_TITLE, wikipedia.CLAIMS_NOTES)


if __name__ == "__main__":
    tabulate(main, settings=WikipediaTableSettings, inputs=["attention*", "published"])
