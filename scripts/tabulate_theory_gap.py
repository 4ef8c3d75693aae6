"""Tabulate the gaps of W_V and E beside the theorems' value."""

import pandas as pd

from onelayer.papers.topic_structure.synthetic import tables
from onelayer.step import Step
from onelayer.tables import Report, tabulate


def main(step: Step) -> Report:
    table = tables.theory_gap(pd.read_parquet(step.inputs.gaps))
    return Report(table, tables.readable_gaps(table), tables.GAP_TITLE, tables.GAP_NOTES)


if __name__ == "__main__":
    tabulate(main, inputs=["gaps"])
