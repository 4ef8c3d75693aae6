"""Plot the loss of trainings that differ in their length alone."""

import pandas as pd
from matplotlib.figure import Figure

from onelayer.figures import draw
from onelayer.papers.local_to_global import training_figures
from onelayer.papers.local_to_global.chain import Chain
from onelayer.settings.local_to_global import AblationShownSettings
from onelayer.step import Step


def main(step: Step) -> Figure:
    settings, curves = step.settings, pd.read_parquet(step.inputs.curves)
    chain = Chain(settings.chain.p, settings.chain.q)
    return training_figures.longer_training(curves, settings.variants, settings.training, chain)


if __name__ == "__main__":
    draw(main, settings=AblationShownSettings, inputs=["curves"])
