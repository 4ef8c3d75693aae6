"""Train in two stages and keep the norms of gradients of W_K, W_Q and W_V over steps."""

from onelayer.compute.execution import execution_of
from onelayer.papers.topic_structure.synthetic.norms import stage_gradients
from onelayer.run.step import Step, program
from onelayer.settings import topic_structure_synthetic as synthetic


@program(settings=synthetic.SyntheticTraining, outputs="gradients")
def main(
    step: Step, stages: synthetic.TwoStageSettings, followed: synthetic.StageGradientsSettings
) -> None:
    step.write(gradients=stage_gradients(step.settings, stages, followed, execution_of(step)))
