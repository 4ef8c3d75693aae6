"""Plot the entropy of attention against learning rates, ours and published."""

import pandas as pd

from onelayer.figures import house_style, save
from onelayer.papers.scan_snap import entropy_sweep, figures
from onelayer.settings.scan_snap import IterationSettings
from onelayer.step import Step, run


def main(step: Step) -> None:
    simulated = pd.read_parquet(step.inputs.attention)
    cells = entropy_sweep.cells(simulated, step.settings.iterations)
    published = entropy_sweep.read_published(step.inputs.published)
    with house_style():
        save(figures.entropy_sweep(cells, published), **vars(step.outputs))


if __name__ == "__main__":
    run(main, settings=IterationSettings, inputs=["attention", "published"], outputs=["pdf", "png"])
