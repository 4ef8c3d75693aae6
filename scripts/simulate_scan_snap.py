"""Train one-layer transformers on synthetic sequences, all runs of a sweep side by side."""

from onelayer.execution import execution_of
from onelayer.papers.scan_snap.simulation import Simulation, simulate
from onelayer.settings.scan_snap import SimulationSettings
from onelayer.step import Step, run


def main(step: Step) -> None:
    settings = step.settings
    simulation = Simulation(
        num_last=settings.num_last,
        next_per_last=settings.next_per_last,
        length=settings.length,
        batch=settings.batch,
        lr_Z=settings.rates("lr_Z"),
        lr_Y_multiplier=settings.rates("lr_Y_multiplier"),
        momentum=settings.momentum,
        initial=settings.initial,
        seeds=settings.seeds,
        observed=settings.observed,
    )
    table = simulate(simulation, execution_of(step, step.outputs.attention))
    table.to_parquet(step.outputs.attention, index=False, compression="zstd")


if __name__ == "__main__":
    run(main, settings=SimulationSettings, outputs=["attention"])
