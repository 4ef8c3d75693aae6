"""Plot attention on one held-out sequence at several iterations of each training."""

import numpy as np

from onelayer.figures import house_style, save
from onelayer.papers.scan_snap import text_figures
from onelayer.settings.scan_snap import TextFigureSettings
from onelayer.step import Step, run


def main(step: Step) -> None:
    maps = [dict(np.load(path, allow_pickle=False)) for path in step.inputs.maps]
    with house_style():
        figure = text_figures.attention_maps(dict(zip(step.settings.trainings, maps, strict=True)))
        save(figure, **vars(step.outputs))


if __name__ == "__main__":
    run(main, settings=TextFigureSettings, inputs=["maps*"], outputs=["pdf", "png"])
