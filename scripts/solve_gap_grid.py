"""Solve for the optimal gap over v, T, p_m, p_c, tau and d, beside the theorems'."""

from onelayer.papers.topic_structure.synthetic.gap_grid import gap_grid
from onelayer.run.step import Step, run
from onelayer.settings.topic_structure_synthetic import GapGridSettings, TopicModelSettings


def main(step: Step, model: TopicModelSettings, grid: GapGridSettings) -> None:
    gap_grid(model, grid).to_parquet(step.outputs.gaps, index=False)


if __name__ == "__main__":
    run(main, outputs=["gaps"])
