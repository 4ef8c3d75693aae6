"""Plot norms against step with the stages shaded, and where two stages appear."""

import pandas as pd
from matplotlib.figure import Figure

from onelayer.figures import draw
from onelayer.papers.topic_structure.synthetic import stage_figures
from onelayer.step import Step


def main(step: Step) -> dict[str, Figure]:
    norms = pd.read_parquet(step.inputs.norms)
    curves, grid = stage_figures.two_stage_norms(norms), stage_figures.two_stage_map(norms)
    return {"two_stage_norms": curves, "two_stage_map": grid}


if __name__ == "__main__":
    draw(main, inputs=["norms"])
