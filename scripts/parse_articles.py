"""Parse a downloaded corpus into articles: id, title, text, human topic."""

from onelayer.corpus.articles import subset, write_articles
from onelayer.corpus.lead_sections import read_lead_sections
from onelayer.corpus.mediawiki import read_dump
from onelayer.settings.corpus import ParseSettings
from onelayer.step import Step, run

READERS = {"lead-sections": read_lead_sections, "mediawiki-xml": read_dump}


def main(step: Step) -> None:
    articles = READERS[step.settings.format](step.inputs.source)
    write_articles(subset(articles, step.settings.max_articles), step.outputs.articles)


if __name__ == "__main__":
    run(main, settings=ParseSettings, inputs=["source"], outputs=["articles"])
