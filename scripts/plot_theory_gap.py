"""Plot the heat maps of E and W_V, and the gap against weight decay."""

import numpy as np
import pandas as pd

from onelayer.figures import house_style, save
from onelayer.papers.topic_structure.synthetic import figures, tables
from onelayer.settings.topic_structure_synthetic import PresentationSettings
from onelayer.step import Step, run


def main(step: Step) -> None:
    with np.load(step.inputs.matrices, allow_pickle=False) as arrays, house_style():
        blocks = figures.blocks(dict(arrays), step.settings.v)
        save(blocks, step.outputs.blocks_pdf, step.outputs.blocks_png)
        table = tables.theory_gap(pd.read_parquet(step.inputs.gaps))
        decay = figures.gap_against_decay(table)
        save(decay, step.outputs.decay_pdf, step.outputs.decay_png)


if __name__ == "__main__":
    run(
        main,
        settings=PresentationSettings,
        inputs=["gaps", "matrices"],
        outputs=["blocks_pdf", "blocks_png", "decay_pdf", "decay_png"],
    )
