"""Take a context-free language, well-nested brackets, through the three stages of topics."""

from onelayer.compute.execution import execution_of
from onelayer.papers.topic_structure.synthetic.dyck import dyck
from onelayer.run.step import Step, program
from onelayer.settings.topic_structure_synthetic import DyckSettings, SyntheticTraining


@program(settings=SyntheticTraining, outputs="found norms")
def main(step: Step, brackets: DyckSettings) -> None:
    measured, norms = dyck(step.settings, brackets, execution_of(step))
    step.write(found=measured, norms=norms)
