"""Plot the trained transformers: figures 3, 4 and 6 of the paper."""

import pandas as pd
from matplotlib.figure import Figure
from safetensors.numpy import load_file

from onelayer.figures import draw
from onelayer.papers.local_to_global import training_figures
from onelayer.papers.local_to_global.chain import Chain
from onelayer.settings.local_to_global import InitialisationShownSettings
from onelayer.step import Step


def main(step: Step) -> dict[str, Figure]:
    settings, curves = step.settings, pd.read_parquet(step.inputs.curves)
    weights, published = load_file(step.inputs.weights), pd.read_csv(step.inputs.published)
    chain = Chain(settings.chain.p, settings.chain.q)
    figures = {"loss_curves": training_figures.loss_curves(curves, chain)}
    for start in ("standard", "rank_one"):
        figures[f"weights_{start}"] = training_figures.weights(
            {matrix: weights[f"{start}/{matrix}"][:, -1] for matrix in ("W_1", "W_V")},
            settings.snapshots,
            curves[curves["variant"] == start],
            published[published["initialisation"] == start],
        )
    return figures


if __name__ == "__main__":
    draw(main, settings=InitialisationShownSettings, inputs=["curves", "weights", "published"])
