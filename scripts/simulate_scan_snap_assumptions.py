"""Train the scan again with one of the paper's assumptions changed at a time."""

from onelayer.compute.execution import execution_of
from onelayer.papers.scan_snap.simulation import simulate_changes
from onelayer.run.step import Step, program
from onelayer.settings.block import Computing
from onelayer.settings.scan_snap import AssumptionSettings, SimulationSettings


@program(settings=Computing, outputs="attention")
def main(step: Step, scan: SimulationSettings, changes: AssumptionSettings) -> None:
    step.write(attention=simulate_changes(scan, changes, execution_of(step)))
