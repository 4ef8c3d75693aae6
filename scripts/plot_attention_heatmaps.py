"""Plot W_K^T W_Q and the attention it gives on one document."""

import numpy as np
from matplotlib.figure import Figure

from onelayer.figures import draw
from onelayer.papers.topic_structure.synthetic import figures
from onelayer.settings.topic_structure_synthetic import HeatmapSettings
from onelayer.step import Step


def main(step: Step) -> Figure:
    paths = dict(zip(step.settings.variants, step.inputs.matrices, strict=True))
    shown = {}
    for name in figures.shown_variants(step.settings.variants):
        with np.load(paths[name], allow_pickle=False) as arrays:
            shown[name] = dict(arrays)
    return figures.attention_heatmaps(shown, step.settings.v)


if __name__ == "__main__":
    draw(main, settings=HeatmapSettings, inputs=["matrices*"])
