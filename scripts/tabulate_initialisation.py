"""Tabulate what three initialisations learn, and how close their weights come to rank one."""

import pandas as pd

from onelayer.papers.local_to_global import training_tables
from onelayer.papers.local_to_global.chain import Chain
from onelayer.settings.local_to_global import InitialisationShownSettings
from onelayer.step import Step
from onelayer.tables import Report, tabulate


def main(step: Step) -> dict[str, Report]:
    settings, curves = step.settings, pd.read_parquet(step.inputs.curves)
    chain = Chain(settings.chain.p, settings.chain.q)
    published = training_tables.read_published(step.inputs.published)
    return {
        "initialisation": training_tables.report_initialisation(curves, settings.training, chain),
        "rank_one": training_tables.report_rank_one(
            curves, settings.snapshots, published, settings.training, chain
        ),
    }


if __name__ == "__main__":
    tabulate(main, settings=InitialisationShownSettings, inputs=["curves", "published"])
