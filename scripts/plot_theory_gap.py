"""Plot the heat maps of E and W_V, and the gap against weight decay."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from onelayer.figures import draw
from onelayer.papers.topic_structure.synthetic import figures, tables
from onelayer.settings.topic_structure_synthetic import TopicBlockSettings
from onelayer.step import Step


def main(step: Step) -> dict[str, Figure]:
    with np.load(step.inputs.matrices, allow_pickle=False) as arrays:
        blocks = figures.blocks(dict(arrays), step.settings.v)
    table = tables.theory_gap(pd.read_parquet(step.inputs.gaps))
    return {"topic_blocks": blocks, "gap_against_decay": figures.gap_against_decay(table)}


if __name__ == "__main__":
    draw(main, settings=TopicBlockSettings, inputs=["gaps", "matrices"])
