"""Tabulate the quality of the topic model: NMI, NPMI, topics used."""

import pandas as pd

from onelayer.papers.topic_structure import topic_tables
from onelayer.settings.topic_structure import TopicTableSettings
from onelayer.step import Step
from onelayer.tables import Report, tabulate


def main(step: Step) -> Report:
    corpus = step.settings.corpus
    held_out = [pd.read_parquet(path) for path in step.inputs.held_out]
    table = topic_tables.quality_table(pd.read_parquet(step.inputs.quality), corpus, held_out)
    shown, title = topic_tables.readable_quality(table), f"Quality of the topic model on {corpus}"
    return Report(table, shown, title, topic_tables.QUALITY_NOTES)


if __name__ == "__main__":
    tabulate(main, settings=TopicTableSettings, inputs=["quality", "held_out*"])
