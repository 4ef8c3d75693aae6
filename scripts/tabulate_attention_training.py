"""Tabulate every run on the full matrix W beside the exact reduced flow."""

import pandas as pd

from onelayer.papers.decision_lists import notes, tables
from onelayer.step import Step
from onelayer.tables import Report, tabulate


def main(step: Step) -> Report:
    table = tables.attention_training(pd.read_parquet(step.inputs.runs))
    shown = tables.readable_attention_training(table)
    return Report(table, shown, notes.ATTENTION_TRAINING_TITLE, notes.ATTENTION_TRAINING_NOTES)


if __name__ == "__main__":
    tabulate(main, inputs=["runs"])
