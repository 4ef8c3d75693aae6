"""Tabulate which changes of the training let a start leave the unigram model."""

import pandas as pd

from onelayer.papers.local_to_global import training_tables
from onelayer.papers.local_to_global.chain import Chain
from onelayer.settings.local_to_global import AblationShownSettings
from onelayer.step import Step
from onelayer.tables import Report, tabulate


def main(step: Step) -> Report:
    settings, curves = step.settings, pd.read_parquet(step.inputs.curves)
    chain = Chain(settings.chain.p, settings.chain.q)
    return training_tables.report_ablation(curves, settings.variants, settings.training, chain)


if __name__ == "__main__":
    tabulate(main, settings=AblationShownSettings, inputs=["curves"])
