"""Tabulate V trained alone under uniform attention."""

import pandas as pd

from onelayer.papers.decision_lists import notes, tables
from onelayer.step import Step
from onelayer.tables import Report, tabulate


def main(step: Step) -> Report:
    table = tables.value_from_uniform_attention(
        pd.read_parquet(step.inputs.history), pd.read_parquet(step.inputs.ceilings)
    )
    shown = tables.readable_value(table)
    return Report(table, shown, notes.VALUE_TITLE, notes.VALUE_NOTES)


if __name__ == "__main__":
    tabulate(main, inputs=["history", "ceilings"])
