"""Train the attention of the published table for longer, and average it on the way."""

from onelayer.compute.execution import execution_of
from onelayer.papers.topic_structure.synthetic.trained_attention import attention_over_steps
from onelayer.run.step import Step, program
from onelayer.settings import topic_structure_synthetic as synthetic


@program(settings=synthetic.SyntheticTraining, outputs="averages")
def main(
    step: Step,
    attention: synthetic.AttentionTableSettings,
    longer: synthetic.OverStepsSettings,
    optimizer: synthetic.OptimizerKind,
    released_steps: int,
) -> None:
    given = step.settings, attention, longer, optimizer, released_steps
    step.write(averages=attention_over_steps(*given, execution_of(step)))
