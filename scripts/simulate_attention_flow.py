"""Follow the gradient flow with the attention scalar, and without it where p + q = 1."""

from onelayer.compute.execution import execution_of
from onelayer.papers.local_to_global import simulation
from onelayer.papers.local_to_global.chain import Chain
from onelayer.papers.local_to_global.theory import critical_points_with_attention
from onelayer.run.step import Step, program
from onelayer.settings.local_to_global import AttentionFlowSettings, IntegrationSettings


@program(settings=IntegrationSettings, outputs="ends neighbours")
def main(step: Step, starts: AttentionFlowSettings) -> None:
    flow, execution = step.settings, execution_of(step, step.outputs.ends)
    chains, precision = [Chain.of(one) for one in flow.chains], (flow.tolerance, flow.at_rest)
    ends = simulation.attention_starts(chains, starts, *precision, flow.seed, execution)
    points = critical_points_with_attention
    neighbours = simulation.neighbours(chains, *precision, execution, points)
    step.write(ends=ends, neighbours=neighbours)
