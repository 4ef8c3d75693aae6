"""Tabulate Theorem 2: hypotheses, window of steps, observed step."""

import pandas as pd

from onelayer.papers.decision_lists import notes, tables
from onelayer.step import Step
from onelayer.tables import Report, tabulate


def main(step: Step) -> Report:
    table = tables.theorem_2(pd.read_parquet(step.inputs.near))
    shown = tables.readable_theorem_2(table)
    return Report(table, shown, notes.THEOREM_2_TITLE, notes.THEOREM_2_NOTES)


if __name__ == "__main__":
    tabulate(main, inputs=["near"])
