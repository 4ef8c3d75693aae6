"""Solve for the optimal gap over v, T, p_m, p_c, tau and d, beside the theorems'."""

from onelayer.papers.topic_structure.synthetic.gap_grid import gap_grid
from onelayer.settings.topic_structure_synthetic import GapGridRun
from onelayer.step import Step, run


def main(step: Step) -> None:
    gap_grid(step.settings).to_parquet(step.outputs.gaps, index=False)


if __name__ == "__main__":
    run(main, settings=GapGridRun, outputs=["gaps"])
