"""Tabulate the corpora: how many articles, words and human topics, and whose text it is."""

import pandas as pd

from onelayer.corpus.articles import count_articles_and_words
from onelayer.corpus.shards import read_column
from onelayer.papers.topic_structure.corpora import NOTES, TITLE, readable, summarise
from onelayer.settings.topic_structure import CorporaTableSettings
from onelayer.step import Step, run
from onelayer.tables import write_table


def main(step: Step) -> None:
    corpora = {corpus.name: corpus.settings for corpus in step.settings.corpora}
    whole, parts = iter(step.inputs.articles), iter(step.inputs.summaries)
    counted = {}
    for name, corpus in corpora.items():
        if corpus.parts > 1:
            tables = [pd.read_parquet(next(parts)) for _ in range(corpus.parts)]
            counted[name] = pd.concat(tables, ignore_index=True)
        else:
            path = [next(whole)]
            counted[name] = count_articles_and_words(
                read_column(path, "text"), read_column(path, "label")
            )
    table = summarise(counted, corpora)
    write_table(table, readable(table), TITLE, NOTES, **vars(step.outputs))


if __name__ == "__main__":
    run(
        main,
        settings=CorporaTableSettings,
        inputs=["articles*", "summaries*"],
        outputs=["csv", "md", "tex", "html"],
    )
