"""Plot the trained transformers: figures 3, 4 and 6 of the paper."""

import pandas as pd
from safetensors.numpy import load_file

from onelayer.figures import house_style, save_each
from onelayer.papers.local_to_global import training_figures
from onelayer.papers.local_to_global.chain import Chain
from onelayer.settings.local_to_global import InitialisationShownSettings
from onelayer.step import Step, run

STARTS = {"weights_standard": "standard", "weights_rank_one": "rank_one"}


def main(step: Step) -> None:
    settings, curves = step.settings, pd.read_parquet(step.inputs.curves)
    weights, published = load_file(step.inputs.weights), pd.read_csv(step.inputs.published)
    chain = Chain(settings.chain.p, settings.chain.q)
    with house_style():
        drawn = {"loss_curves": training_figures.loss_curves(curves, chain)}
        for name, start in STARTS.items():
            drawn[name] = training_figures.weights(
                {matrix: weights[f"{start}/{matrix}"][:, -1] for matrix in ("W_1", "W_V")},
                settings.snapshots,
                curves[curves["variant"] == start],
                published[published["initialisation"] == start],
            )
        save_each(drawn, vars(step.outputs))


if __name__ == "__main__":
    run(
        main,
        settings=InitialisationShownSettings,
        inputs=["curves", "weights", "published"],
        outputs=[f"{name}_{form}" for name in ("loss_curves", *STARTS) for form in ("pdf", "png")],
    )
