"""Follow the gradient flow with the attention scalar, and without it where p + q = 1."""

from onelayer.execution import execution_of
from onelayer.papers.local_to_global import simulation
from onelayer.papers.local_to_global.flow_tables import chains_of
from onelayer.papers.local_to_global.theory import critical_points_with_attention
from onelayer.settings.local_to_global import AttentionFlowRunSettings
from onelayer.step import Step, run


def main(step: Step) -> None:
    settings, chains = step.settings, chains_of(step.settings)
    execution = execution_of(step, step.outputs.ends)
    simulation.attention_starts(chains, settings, execution).to_parquet(step.outputs.ends)
    points = critical_points_with_attention
    found = simulation.neighbours(chains, settings, execution, points)
    found.to_parquet(step.outputs.neighbours)


if __name__ == "__main__":
    run(main, settings=AttentionFlowRunSettings, outputs=["ends", "neighbours"])
