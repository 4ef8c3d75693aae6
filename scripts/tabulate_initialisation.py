"""Tabulate what three initialisations learn, and how close their weights come to rank one."""

import pandas as pd

from onelayer.papers.local_to_global import training_tables
from onelayer.papers.local_to_global.chain import Chain
from onelayer.settings.local_to_global import InitialisationShownSettings
from onelayer.step import Step, run
from onelayer.tables import forms_of, write_table


def main(step: Step) -> None:
    settings, curves = step.settings, pd.read_parquet(step.inputs.curves)
    chain = Chain(settings.chain.p, settings.chain.q)
    table = training_tables.initialisation_table(curves, chain)
    write_table(
        table,
        training_tables.readable_initialisations(table),
        f"What each start learns, p = {chain.p:g}, q = {chain.q:g}",
        training_tables.initialisation_notes(settings.training, chain),
        **forms_of("initialisation", step.outputs),
    )
    published = pd.read_csv(step.inputs.published)
    table = training_tables.rank_one_table(curves, settings.snapshots, published)
    write_table(
        table,
        training_tables.readable_rank_one(table),
        "Share of the largest singular value over training",
        training_tables.RANK_ONE_NOTES,
        **forms_of("rank_one", step.outputs),
    )


FORMS = ["csv", "md", "tex", "html"]
if __name__ == "__main__":
    run(
        main,
        settings=InitialisationShownSettings,
        inputs=["curves", "published"],
        outputs=[f"{table}_{form}" for table in ("initialisation", "rank_one") for form in FORMS],
    )
