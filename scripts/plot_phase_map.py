"""Plot the entropy of attention over a fine grid of learning rates."""

import pandas as pd

from onelayer.figures import house_style, save
from onelayer.papers.scan_snap import figures
from onelayer.settings.scan_snap import IterationSettings
from onelayer.step import Step, run


def main(step: Step) -> None:
    table = pd.read_parquet(step.inputs.attention)
    with house_style():
        save(figures.phase_map(table, step.settings.iterations), **vars(step.outputs))


if __name__ == "__main__":
    run(main, settings=IterationSettings, inputs=["attention"], outputs=["pdf", "png"])
