"""Tabulate the claims of Scan and Snap, each with its number, interval and verdict."""

import pandas as pd

from onelayer.papers.scan_snap import claims
from onelayer.papers.scan_snap.entropy_sweep import read_published
from onelayer.settings.scan_snap import ClaimSettings
from onelayer.step import Step, run
from onelayer.tables import write_table


def main(step: Step) -> None:
    text = map(pd.read_parquet, step.inputs.text)
    table = claims.assemble(
        pd.read_parquet(step.inputs.scan),
        pd.read_parquet(step.inputs.sweep),
        read_published(step.inputs.published),
        dict(zip(step.settings.trainings, text, strict=True)),
        step.settings.scan_iterations,
        step.settings.sweep_iterations,
    )
    title = "Scan and Snap: the paper's claims"
    write_table(table, claims.readable(table), title, claims.NOTES, **vars(step.outputs))


if __name__ == "__main__":
    run(
        main,
        settings=ClaimSettings,
        inputs=["scan", "sweep", "published", "text*"],
        outputs=["csv", "md", "tex", "html"],
    )
