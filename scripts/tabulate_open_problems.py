"""Tabulate how far more states, the second order and two layers are learnt."""

import pandas as pd

from onelayer.papers.local_to_global.open_problem_tables import report
from onelayer.settings.local_to_global import OpenProblemsShownSettings
from onelayer.step import Step
from onelayer.tables import Report, tabulate


def main(step: Step) -> Report:
    return report(pd.read_parquet(step.inputs.curves), step.settings)


if __name__ == "__main__":
    tabulate(main, settings=OpenProblemsShownSettings, inputs=["curves"])
