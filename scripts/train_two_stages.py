"""Train from near-zero matrices and keep the norms of W_K, W_Q and W_V after every step."""

from onelayer.compute.execution import execution_of
from onelayer.papers.topic_structure.synthetic.norms import two_stages
from onelayer.run.step import Step, program
from onelayer.settings.topic_structure_synthetic import SyntheticTraining, TwoStageSettings


@program(settings=SyntheticTraining, outputs="norms")
def main(step: Step, stages: TwoStageSettings) -> None:
    step.write(norms=two_stages(step.settings, stages, execution_of(step)))
