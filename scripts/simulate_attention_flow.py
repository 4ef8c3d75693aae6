"""Follow the gradient flow with the attention scalar, and without it where p + q = 1."""

from onelayer.compute.execution import execution_of
from onelayer.papers.local_to_global import simulation
from onelayer.papers.local_to_global.theory import critical_points_with_attention
from onelayer.run.step import Step, program
from onelayer.settings.local_to_global import AttentionFlowSettings, IntegrationSettings


@program(settings=IntegrationSettings, outputs="ends neighbours")
def main(step: Step, starts: AttentionFlowSettings) -> None:
    how = step.settings, execution_of(step)
    neighbours = simulation.neighbours(*how, critical_points_with_attention)
    step.write(ends=simulation.attention_starts(starts, *how), neighbours=neighbours)
