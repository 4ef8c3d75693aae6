"""Tabulate when W_V is done and when W_K begins to grow, run by run."""

import pandas as pd

from onelayer.papers.topic_structure.synthetic import stage_tables
from onelayer.settings.topic_structure_synthetic import PresentationSettings
from onelayer.step import Step, run
from onelayer.tables import write_table

TITLE = "Topic structure, synthetic: the two stages of training"


def main(step: Step) -> None:
    norms = pd.read_parquet(step.inputs.norms)
    table = stage_tables.two_stage(norms, step.settings.without_stages)
    shown = stage_tables.readable_stages(table)
    write_table(table, shown, TITLE, stage_tables.STAGE_NOTES, **vars(step.outputs))


if __name__ == "__main__":
    run(
        main,
        settings=PresentationSettings,
        inputs=["norms"],
        outputs=["csv", "md", "tex", "html"],
    )
