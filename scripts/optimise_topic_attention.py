"""Find the optimal attention for a frozen W_V against tau, and train W_K and W_Q towards it."""

from onelayer.compute.execution import execution_of
from onelayer.papers.topic_structure.synthetic.stage_two import ratio_over_tau
from onelayer.run.step import Step, program
from onelayer.settings.topic_structure_synthetic import StageTwoSettings, SyntheticTraining


@program(settings=SyntheticTraining, outputs="ratios")
def main(step: Step, stage_two: StageTwoSettings) -> None:
    step.write(ratios=ratio_over_tau(step.settings, stage_two, execution_of(step)))
