"""Plot attention on one held-out sequence at several iterations of each training."""

import numpy as np
from matplotlib.figure import Figure

from onelayer.figures import draw
from onelayer.papers.scan_snap import text_figures
from onelayer.settings.scan_snap import TextFigureSettings
from onelayer.step import Step


def main(step: Step) -> Figure:
    maps = [dict(np.load(path, allow_pickle=False)) for path in step.inputs.maps]
    return text_figures.attention_maps(dict(zip(step.settings.trainings, maps, strict=True)))


if __name__ == "__main__":
    draw(main, settings=TextFigureSettings, inputs=["maps*"])
