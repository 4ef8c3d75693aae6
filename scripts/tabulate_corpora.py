"""Tabulate the corpora: how many articles, words and human topics, and whose text it is."""

import pandas as pd

from onelayer.corpus.articles import count_articles_and_words
from onelayer.corpus.shards import read_column
from onelayer.papers.topic_structure.corpora import NOTES, TITLE, readable, summarise
from onelayer.settings.topic_structure import CorporaTableSettings
from onelayer.step import Step
from onelayer.tables import Report, tabulate


def main(step: Step) -> Report:
    corpora = {corpus.name: corpus.settings for corpus in step.settings.corpora}
    whole, parts = iter(step.inputs.articles), iter(step.inputs.summaries)
    counted = {}
    for name, corpus in corpora.items():
        if corpus.parts > 1:
            tables = [pd.read_parquet(next(parts)) for _ in range(corpus.parts)]
            counted[name] = pd.concat(tables, ignore_index=True)
        else:
            path = [next(whole)]
            texts, labels = read_column(path, "text"), read_column(path, "label")
            counted[name] = count_articles_and_words(texts, labels)
    table = summarise(counted, corpora)
    return Report(table, readable(table), TITLE, NOTES)


if __name__ == "__main__":
    tabulate(main, settings=CorporaTableSettings, inputs=["articles*", "summaries*"])
