"""Tabulate the topics: the most probable words of each, and the human topic it covers."""

import pandas as pd

from onelayer.papers.topic_structure import topic_tables
from onelayer.settings.topic_structure import TopicTableSettings
from onelayer.step import Step, run
from onelayer.tables import write_table


def main(step: Step) -> None:
    words, shares = pd.read_parquet(step.inputs.words), pd.read_parquet(step.inputs.shares)
    write_table(
        topic_tables.topic_table(words, step.settings.corpus),
        topic_tables.readable_topics(words, shares),
        f"The topics of {step.settings.corpus}",
        topic_tables.TOPIC_NOTES,
        **vars(step.outputs),
    )


if __name__ == "__main__":
    run(
        main,
        settings=TopicTableSettings,
        inputs=["words", "shares"],
        outputs=["csv", "md", "tex", "html"],
    )
