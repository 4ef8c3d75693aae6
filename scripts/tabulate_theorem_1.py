"""Tabulate Theorem 1: time to perfect classification beside the bound."""

import pandas as pd

from onelayer.papers.decision_lists import notes, tables
from onelayer.step import Step
from onelayer.tables import Report, tabulate


def main(step: Step) -> Report:
    table = tables.theorem_1(pd.read_parquet(step.inputs.solved))
    shown = tables.readable_theorem_1(table)
    return Report(table, shown, notes.THEOREM_1_TITLE, notes.THEOREM_1_NOTES)


if __name__ == "__main__":
    tabulate(main, inputs=["solved"])
