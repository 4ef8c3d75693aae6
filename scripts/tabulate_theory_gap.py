"""Tabulate the gaps of W_V and E beside the theorems' value."""

import pandas as pd

from onelayer.papers.topic_structure.synthetic import tables
from onelayer.settings.topic_structure_synthetic import PresentationSettings
from onelayer.step import Step, run
from onelayer.tables import write_table

TITLE = "Topic structure, synthetic: same-topic minus different-topic gap under uniform attention"


def main(step: Step) -> None:
    table = tables.theory_gap(pd.read_parquet(step.inputs.gaps))
    shown = tables.readable_gaps(table)
    write_table(table, shown, TITLE, tables.GAP_NOTES, **vars(step.outputs))


if __name__ == "__main__":
    run(
        main,
        settings=PresentationSettings,
        inputs=["gaps"],
        outputs=["csv", "md", "tex", "html"],
    )
