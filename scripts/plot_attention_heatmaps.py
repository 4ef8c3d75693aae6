"""Plot W_K^T W_Q and the attention it gives on one document."""

import numpy as np

from onelayer.figures import house_style, save
from onelayer.papers.topic_structure.synthetic import figures
from onelayer.settings.topic_structure_synthetic import PresentationSettings
from onelayer.step import Step, run


def main(step: Step) -> None:
    paths = dict(zip(step.settings.variants, step.inputs.matrices, strict=True))
    shown = {}
    for name in figures.shown_variants(step.settings.variants):
        with np.load(paths[name], allow_pickle=False) as arrays:
            shown[name] = dict(arrays)
    with house_style():
        figure = figures.attention_heatmaps(shown, step.settings.v)
        save(figure, step.outputs.pdf, step.outputs.png)


if __name__ == "__main__":
    run(main, settings=PresentationSettings, inputs=["matrices*"], outputs=["pdf", "png"])
