"""Descend stage 1's loss from many starts, with and without weight decay."""

from onelayer.papers.topic_structure.synthetic.descent import stage_one_descent
from onelayer.run.step import Step, program
from onelayer.settings import topic_structure_synthetic as synthetic


@program(outputs="descent")
def main(
    step: Step,
    model: synthetic.TopicModelSettings,
    theory: synthetic.TheorySettings,
    descent: synthetic.DescentSettings,
) -> None:
    step.write(descent=stage_one_descent(model, theory, descent))
