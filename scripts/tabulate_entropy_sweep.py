"""Tabulate the entropy of attention by size and learning rates, ours beside the published cells."""

import pandas as pd

from onelayer.papers.scan_snap import entropy_sweep
from onelayer.settings.scan_snap import IterationSettings
from onelayer.step import Step
from onelayer.tables import Report, tabulate


def main(step: Step) -> Report:
    published = entropy_sweep.read_published(step.inputs.published)
    return entropy_sweep.report(
        pd.read_parquet(step.inputs.attention), published, step.settings.iterations
    )


if __name__ == "__main__":
    tabulate(main, settings=IterationSettings, inputs=["attention", "published"])
