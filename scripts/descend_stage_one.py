"""Descend stage 1's loss from many starts, with and without weight decay."""

from onelayer.papers.topic_structure.synthetic.descent import stage_one_descent
from onelayer.run.step import Step, program
from onelayer.settings.topic_structure_synthetic import (
    DescentSettings,
    TheorySettings,
    TopicModelSettings,
)


@program(outputs="descent")
def main(
    step: Step, model: TopicModelSettings, theory: TheorySettings, descent: DescentSettings
) -> None:
    step.write(descent=stage_one_descent(model, theory, descent))
