"""Tabulate W and V trained together, seed by seed."""

import pandas as pd

from onelayer.papers.decision_lists import notes, tables
from onelayer.step import Step
from onelayer.tables import Report, tabulate


def main(step: Step) -> Report:
    table = tables.joint_training(
        pd.read_parquet(step.inputs.near), pd.read_parquet(step.inputs.small)
    )
    shown = tables.readable_joint(table)
    return Report(table, shown, notes.JOINT_TITLE, notes.JOINT_NOTES)


if __name__ == "__main__":
    tabulate(main, inputs=["near", "small"])
