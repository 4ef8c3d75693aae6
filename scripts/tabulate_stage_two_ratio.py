"""Tabulate the optimal and the trained same-topic ratio of stage 2 against tau."""

import pandas as pd

from onelayer.papers.topic_structure.synthetic import stage_tables
from onelayer.settings.topic_structure_synthetic import PresentationSettings
from onelayer.step import Step, run
from onelayer.tables import write_table

TITLE = "Topic structure, synthetic: optimal attention of stage 2 against topics in a document"


def main(step: Step) -> None:
    table = stage_tables.stage_two_ratio(pd.read_parquet(step.inputs.ratios))
    shown = stage_tables.readable_ratios(table)
    write_table(table, shown, TITLE, stage_tables.RATIO_NOTES, **vars(step.outputs))


if __name__ == "__main__":
    run(
        main,
        settings=PresentationSettings,
        inputs=["ratios"],
        outputs=["csv", "md", "tex", "html"],
    )
