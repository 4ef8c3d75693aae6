"""Train one-layer transformers on synthetic sequences, all runs of a sweep side by side."""

from onelayer.compute.execution import execution_of
from onelayer.papers.scan_snap.simulation import simulate
from onelayer.run.step import Step, run
from onelayer.settings.scan_snap import SimulationSettings


def main(step: Step) -> None:
    table = simulate(step.settings, execution_of(step, step.outputs.attention))
    table.to_parquet(step.outputs.attention, index=False, compression="zstd")


if __name__ == "__main__":
    run(main, settings=SimulationSettings, outputs=["attention"])
