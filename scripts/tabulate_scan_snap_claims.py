"""Tabulate the claims of Scan and Snap, each with its number, interval and verdict."""

import pandas as pd

from onelayer.claims import readable
from onelayer.papers.scan_snap import claims
from onelayer.papers.scan_snap.entropy_sweep import read_published
from onelayer.settings.scan_snap import ClaimSettings
from onelayer.step import Step
from onelayer.tables import Report, tabulate


def main(step: Step) -> Report:
    text = map(pd.read_parquet, step.inputs.text)
    table = claims.assemble(
        pd.read_parquet(step.inputs.scan),
        pd.read_parquet(step.inputs.sweep),
        read_published(step.inputs.published),
        dict(zip(step.settings.trainings, text, strict=True)),
        step.settings.scan_iterations,
        step.settings.sweep_iterations,
        pd.read_parquet(step.inputs.transition),
        pd.read_parquet(step.inputs.assumptions),
        step.settings.own_text,
        step.settings.text_length,
    )
    return Report(table, readable(table), claims.TITLE, claims.NOTES)


if __name__ == "__main__":
    inputs = ["scan", "transition", "assumptions", "sweep", "published", "text*"]
    tabulate(main, settings=ClaimSettings, inputs=inputs)
