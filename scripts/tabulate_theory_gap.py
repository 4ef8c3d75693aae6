"""Tabulate the gaps of W_V and E beside the theorems' value."""

import pandas as pd

from onelayer.papers.topic_structure.synthetic import tables
from onelayer.settings.topic_structure_synthetic import GapTableSettings
from onelayer.step import Step
from onelayer.tables import Report, tabulate


def main(step: Step) -> Report:
    tolerance = tables.gap_tolerance(step.settings)
    table = tables.theory_gap(pd.read_parquet(step.inputs.gaps), tolerance)
    notes = tables.gap_notes(step.settings)
    return Report(table, tables.readable_gaps(table), tables.GAP_TITLE, notes)


if __name__ == "__main__":
    tabulate(main, settings=GapTableSettings, inputs=["gaps"])
