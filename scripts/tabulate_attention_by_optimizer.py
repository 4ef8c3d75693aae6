"""Tabulate average attention by optimiser and learning rate beside the published table."""

import pandas as pd

from onelayer.papers.topic_structure.synthetic import tables
from onelayer.settings.topic_structure_synthetic import PresentationSettings
from onelayer.step import Step, run
from onelayer.tables import write_table

TITLE = "Topic structure, synthetic: average attention by optimiser and learning rate"


def main(step: Step) -> None:
    table = tables.attention_by_optimizer(
        [pd.read_parquet(path) for path in step.inputs.averages],
        tables.read_published(step.inputs.published),
        step.settings.evaluated_tokens,
    )
    shown = tables.readable_attention(table)
    write_table(table, shown, TITLE, tables.ATTENTION_NOTES, **vars(step.outputs))


if __name__ == "__main__":
    run(
        main,
        settings=PresentationSettings,
        inputs=["averages*", "published"],
        outputs=["csv", "md", "tex", "html"],
    )
