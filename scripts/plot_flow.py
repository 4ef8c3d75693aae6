"""Plot the gradient flow: figures 1, 2 and 5, and P(global) against the start's scale."""

import pandas as pd
from matplotlib.figure import Figure
from safetensors.numpy import load_file

from onelayer.figures import draw
from onelayer.papers.local_to_global import flow_figures
from onelayer.papers.local_to_global.flow_tables import chains_of
from onelayer.papers.local_to_global.theory import shown_chains
from onelayer.settings.local_to_global import FlowShownSettings
from onelayer.step import Step


def main(step: Step) -> dict[str, Figure]:
    settings, shown = step.settings, shown_chains(chains_of(step.settings))
    paths, gaussian = load_file(step.inputs.paths), pd.read_parquet(step.inputs.gaussian)
    with_attention = flow_figures.with_attention
    return {
        "gradient_flow": flow_figures.gradient_flow(shown, settings.extent),
        "attention_flow": with_attention(paths, shown, "wide", settings.wide),
        "attention_flow_origin": with_attention(paths, shown, "near", settings.near),
        "initial_scale": flow_figures.initial_scale(gaussian, settings.sigmas),
    }


if __name__ == "__main__":
    draw(main, settings=FlowShownSettings, inputs=["gaussian", "paths"])
