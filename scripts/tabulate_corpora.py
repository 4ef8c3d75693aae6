"""Tabulate the corpora: how many articles, words and human topics, and whose text it is."""

from onelayer.corpus.articles import read_articles
from onelayer.corpus.summary import NOTES, TITLE, readable, summarise
from onelayer.settings.topic_structure import CorporaTableSettings
from onelayer.step import Step, run
from onelayer.tables import write_table


def main(step: Step) -> None:
    corpora = {corpus.name: corpus.settings for corpus in step.settings.corpora}
    articles = {
        name: read_articles(path) for name, path in zip(corpora, step.inputs.articles, strict=True)
    }
    table = summarise(articles, corpora)
    write_table(table, readable(table), TITLE, NOTES, **vars(step.outputs))


if __name__ == "__main__":
    run(
        main,
        settings=CorporaTableSettings,
        inputs=["articles*"],
        outputs=["csv", "md", "tex", "html"],
    )
