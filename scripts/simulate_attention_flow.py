"""Follow the gradient flow with the attention scalar, and without it where p + q = 1."""

from onelayer.compute.execution import execution_of
from onelayer.papers.local_to_global import simulation
from onelayer.papers.local_to_global.chain import Chain
from onelayer.papers.local_to_global.theory import critical_points_with_attention
from onelayer.run.step import Step, run
from onelayer.settings.block import Device, Seed, Threads
from onelayer.settings.local_to_global import AttentionFlowSettings, ChainSettings


def main(
    step: Step,
    starts: AttentionFlowSettings,
    chains: list[ChainSettings],
    tolerance: float,
    at_rest: float,
    seed: Seed,
    device: Device,
    threads: Threads,
) -> None:
    own, execution = [Chain.of(one) for one in chains], execution_of(step, step.outputs.ends)
    found = simulation.attention_starts(own, starts, tolerance, at_rest, seed, execution)
    found.to_parquet(step.outputs.ends)
    points = critical_points_with_attention
    found = simulation.neighbours(own, tolerance, at_rest, execution, points)
    found.to_parquet(step.outputs.neighbours)


if __name__ == "__main__":
    run(main, outputs=["ends", "neighbours"])
