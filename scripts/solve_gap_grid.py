"""Solve for the optimal gap over v, T, p_m, p_c, tau and d, beside the theorems'."""

from onelayer.papers.topic_structure.synthetic.gap_grid import gap_grid
from onelayer.run.step import Step, program
from onelayer.settings.topic_structure_synthetic import GapGridSettings, TopicModelSettings


@program(outputs="gaps")
def main(step: Step, model: TopicModelSettings, grid: GapGridSettings) -> None:
    step.write(gaps=gap_grid(model, grid))
