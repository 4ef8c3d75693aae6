"""Tabulate the quality of the topic model: NMI, NPMI, topics used."""

import pandas as pd

from onelayer.papers.topic_structure import topic_tables
from onelayer.settings.topic_structure import TopicTableSettings
from onelayer.step import Step, run
from onelayer.tables import write_table


def main(step: Step) -> None:
    table = topic_tables.quality_table(pd.read_parquet(step.inputs.quality), step.settings.corpus)
    write_table(
        table,
        topic_tables.readable_quality(table),
        f"Quality of the topic model on {step.settings.corpus}",
        topic_tables.QUALITY_NOTES,
        **vars(step.outputs),
    )


if __name__ == "__main__":
    run(main, settings=TopicTableSettings, inputs=["quality"], outputs=["csv", "md", "tex", "html"])
