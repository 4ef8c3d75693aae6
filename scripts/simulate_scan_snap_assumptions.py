"""Train the scan again with one of the paper's assumptions changed at a time."""

from onelayer.compute.execution import execution_of
from onelayer.papers.scan_snap.simulation import simulate_changes
from onelayer.run.step import Step, run
from onelayer.settings.block import Device, Threads
from onelayer.settings.scan_snap import AssumptionSettings, SimulationSettings


def main(
    step: Step,
    scan: SimulationSettings,
    changes: AssumptionSettings,
    device: Device,
    threads: Threads,
) -> None:
    table = simulate_changes(scan, changes, execution_of(step, step.outputs.attention))
    table.to_parquet(step.outputs.attention, index=False, compression="zstd")


if __name__ == "__main__":
    run(main, outputs=["attention"])
