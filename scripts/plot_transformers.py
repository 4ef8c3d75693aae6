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
    matrices = {
        start: {matrix: weights[f"{start}/{matrix}"] for matrix in training_figures.NAMES}
        for start in ("standard", "rank_one")
    }
    by_start = dict(list(curves.groupby("variant")))
    return {
        "loss_curves": training_figures.loss_curves(curves, chain),
        "weights_standard": training_figures.weights(
            {matrix: seeds[:, -1] for matrix, seeds in matrices["standard"].items()},
            settings.snapshots,
            by_start["standard"],
            published[published["initialisation"] == "standard"],
        ),
        "weights_rank_one": training_figures.rank_one_weights(
            matrices["rank_one"], settings.snapshots, by_start["rank_one"]
        ),
    }


if __name__ == "__main__":
    draw(main, settings=InitialisationShownSettings, inputs=["curves", "weights", "published"])
