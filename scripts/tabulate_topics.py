"""Tabulate the topics: the most probable words of each, and the human topic it covers."""

import pandas as pd

from onelayer.papers.topic_structure import topic_tables
from onelayer.settings.topic_structure import TopicTableSettings
from onelayer.step import Step
from onelayer.tables import Report, tabulate


def main(step: Step) -> Report:
    words, shares = pd.read_parquet(step.inputs.words), pd.read_parquet(step.inputs.shares)
    table = topic_tables.topic_table(words, step.settings.corpus)
    shown = topic_tables.readable_topics(words, shares)
    title = f"The topics of {step.settings.corpus}"
    return Report(table, shown, title, topic_tables.TOPIC_NOTES)


if __name__ == "__main__":
    tabulate(main, settings=TopicTableSettings, inputs=["words", "shares"])
