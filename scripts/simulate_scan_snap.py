"""Train one-layer transformers on synthetic sequences, all runs of a sweep side by side."""

from onelayer.execution import execution_of
from onelayer.papers.scan_snap.simulation import simulate
from onelayer.settings.scan_snap import SimulationSettings
from onelayer.step import Step, run


def main(step: Step) -> None:
    table = simulate(step.settings, execution_of(step, step.outputs.attention))
    table.to_parquet(step.outputs.attention, index=False, compression="zstd")


if __name__ == "__main__":
    run(main, settings=SimulationSettings, outputs=["attention"])
