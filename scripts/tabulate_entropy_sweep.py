"""Tabulate the entropy of attention by size and learning rates, ours beside the published cells."""

import pandas as pd

from onelayer.papers.scan_snap import entropy_sweep
from onelayer.settings.scan_snap import IterationSettings
from onelayer.step import Step, run
from onelayer.tables import write_table


def main(step: Step) -> None:
    table = entropy_sweep.assemble(
        pd.read_parquet(step.inputs.attention),
        entropy_sweep.read_published(step.inputs.published),
        step.settings.iterations,
    )
    shown, notes = entropy_sweep.readable(table), entropy_sweep.reader_notes(table)
    title = "Scan and Snap: entropy of attention (nats) against learning rates"
    write_table(table, shown, title, notes, **vars(step.outputs))


if __name__ == "__main__":
    run(
        main,
        settings=IterationSettings,
        inputs=["attention", "published"],
        outputs=["csv", "md", "tex", "html"],
    )
