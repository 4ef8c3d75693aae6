"""Tabulate the optimal and the trained same-topic ratio of stage 2 against tau."""

import pandas as pd

from onelayer.papers.topic_structure.synthetic import stage_tables
from onelayer.step import Step
from onelayer.tables import Report, tabulate


def main(step: Step) -> Report:
    table = stage_tables.stage_two_ratio(pd.read_parquet(step.inputs.ratios))
    shown = stage_tables.readable_ratios(table)
    return Report(table, shown, stage_tables.RATIO_TITLE, stage_tables.RATIO_NOTES)


if __name__ == "__main__":
    tabulate(main, inputs=["ratios"])
