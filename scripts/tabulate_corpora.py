"""Tabulate the corpora: how many articles, words and human topics, and whose text it is."""

import pandas as pd

from onelayer.papers.topic_structure.corpora import NOTES, TITLE, readable, summarise
from onelayer.settings.topic_structure import CorporaTableSettings
from onelayer.step import Step
from onelayer.tables import Report, tabulate


def main(step: Step) -> Report:
    corpora = {corpus.name: corpus.settings for corpus in step.settings.corpora}
    summaries = map(pd.read_parquet, step.inputs.summaries)
    counted = {
        name: pd.concat([next(summaries) for _ in range(corpus.parts)], ignore_index=True)
        for name, corpus in corpora.items()
    }
    table = summarise(counted, corpora)
    return Report(table, readable(table), TITLE, NOTES)


if __name__ == "__main__":
    tabulate(main, settings=CorporaTableSettings, inputs=["summaries*"])
