"""Tabulate which changes of the training let a start leave the unigram model."""

import pandas as pd

from onelayer.papers.local_to_global import training_tables
from onelayer.papers.local_to_global.chain import Chain
from onelayer.settings.local_to_global import AblationShownSettings
from onelayer.step import Step, run
from onelayer.tables import write_table


def main(step: Step) -> None:
    settings = step.settings
    chain = Chain(settings.chain.p, settings.chain.q)
    table = training_tables.ablation_table(
        pd.read_parquet(step.inputs.curves), settings.variants, settings.training, chain
    )
    write_table(
        table,
        training_tables.readable_ablation(table),
        "What keeps a start at the unigram model, one change at a time",
        training_tables.ablation_notes(settings.training, chain),
        **vars(step.outputs),
    )


if __name__ == "__main__":
    run(
        main,
        settings=AblationShownSettings,
        inputs=["curves"],
        outputs=["csv", "md", "tex", "html"],
    )
