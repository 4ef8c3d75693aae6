"""Plot the gradient flow: figures 1, 2 and 5, and P(global) against the start's scale."""

import pandas as pd
from safetensors.numpy import load_file

from onelayer.figures import house_style, save_each
from onelayer.papers.local_to_global import flow_figures
from onelayer.papers.local_to_global.flow_tables import chains_of
from onelayer.papers.local_to_global.theory import shown_chains
from onelayer.settings.local_to_global import FlowShownSettings
from onelayer.step import Step, run

FIGURES = ["gradient_flow", "attention_flow", "attention_flow_origin", "initial_scale"]


def main(step: Step) -> None:
    settings, shown = step.settings, shown_chains(chains_of(step.settings))
    paths, gaussian = load_file(step.inputs.paths), pd.read_parquet(step.inputs.gaussian)
    with house_style():
        drawn = {
            "gradient_flow": flow_figures.gradient_flow(shown, settings.extent),
            "attention_flow": flow_figures.with_attention(paths, shown, "wide", settings.wide),
            "attention_flow_origin": flow_figures.with_attention(
                paths, shown, "near", settings.near
            ),
            "initial_scale": flow_figures.initial_scale(gaussian, settings.sigmas),
        }
        save_each(drawn, vars(step.outputs))


if __name__ == "__main__":
    run(
        main,
        settings=FlowShownSettings,
        inputs=["gaussian", "paths"],
        outputs=[f"{name}_{form}" for name in FIGURES for form in ("pdf", "png")],
    )
