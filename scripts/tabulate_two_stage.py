"""Tabulate when W_V is done and when W_K begins to grow, run by run."""

import pandas as pd

from onelayer.papers.topic_structure.synthetic import stage_tables
from onelayer.settings.topic_structure_synthetic import StagesTableSettings
from onelayer.step import Step
from onelayer.tables import Report, tabulate


def main(step: Step) -> Report:
    norms = pd.read_parquet(step.inputs.norms)
    published = stage_tables.read_stage_steps(step.inputs.published)
    table = stage_tables.two_stage(norms, step.settings.two_stages, published)
    shown = stage_tables.readable_stages(table)
    return Report(table, shown, stage_tables.STAGE_TITLE, stage_tables.stage_notes(table))


if __name__ == "__main__":
    tabulate(main, settings=StagesTableSettings, inputs=["norms", "published"])
