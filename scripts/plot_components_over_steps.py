"""Plot E, attention and the gradients of the two stages over steps."""

import pandas as pd
from matplotlib.figure import Figure

from onelayer.figures import draw
from onelayer.papers.topic_structure.synthetic import claim_figures
from onelayer.step import Step


def main(step: Step) -> dict[str, Figure]:
    components = pd.read_parquet(step.inputs.components)
    gradients = pd.read_parquet(step.inputs.gradients)
    return {
        "components_over_steps": claim_figures.components_over_steps(components),
        "stage_gradients": claim_figures.stage_gradients(gradients),
    }


if __name__ == "__main__":
    draw(main, inputs=["components", "gradients"])
