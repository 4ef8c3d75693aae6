"""Plot norms against step with the stages shaded, and where two stages appear."""

import pandas as pd

from onelayer.figures import house_style, save
from onelayer.papers.topic_structure.synthetic import stage_figures
from onelayer.settings.topic_structure_synthetic import PresentationSettings
from onelayer.step import Step, run


def main(step: Step) -> None:
    norms = pd.read_parquet(step.inputs.norms)
    with house_style():
        curves, grid = stage_figures.two_stage_norms(norms), stage_figures.two_stage_map(norms)
        save(curves, step.outputs.norms_pdf, step.outputs.norms_png)
        save(grid, step.outputs.map_pdf, step.outputs.map_png)


if __name__ == "__main__":
    run(
        main,
        settings=PresentationSettings,
        inputs=["norms"],
        outputs=["norms_pdf", "norms_png", "map_pdf", "map_png"],
    )
