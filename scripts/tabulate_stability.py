"""Tabulate claims as on other machines and from other seeds: spreads, and verdicts that change."""

import pandas as pd

from onelayer.settings.stability import StabilityTableSettings
from onelayer.stability.table import report
from onelayer.step import Step
from onelayer.tables import Report, tabulate


def main(step: Step) -> Report:
    return report(step.settings.machines, [pd.read_parquet(path) for path in step.inputs.claims])


if __name__ == "__main__":
    tabulate(main, settings=StabilityTableSettings, inputs=["claims*"])
