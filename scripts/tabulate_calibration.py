"""Tabulate whether intervals and verdicts are right, where the truth is known."""

import pandas as pd

from onelayer.calibration.table import report
from onelayer.papers.topic_structure.wikipedia import read_published
from onelayer.settings.calibration import CalibrationTableSettings
from onelayer.step import Step
from onelayer.tables import Report, tabulate


def main(step: Step) -> Report:
    inputs, names = step.inputs, [model.name for model in step.settings.models]
    probed = dict(zip(names, map(pd.read_parquet, inputs.measures), strict=True))
    simulated = map(pd.read_parquet, (inputs.coverage, inputs.effects))
    return report(probed, step.settings, read_published(inputs.published), *simulated)


if __name__ == "__main__":
    inputs = ["measures*", "published", "coverage", "effects"]
    tabulate(main, settings=CalibrationTableSettings, inputs=inputs)
