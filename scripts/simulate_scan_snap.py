"""Train one-layer transformers on synthetic sequences, all runs of a sweep side by side."""

from onelayer.compute.execution import execution_of
from onelayer.papers.scan_snap.simulation import simulate
from onelayer.run.step import Step, program
from onelayer.settings.scan_snap import SimulationSettings


@program(settings=SimulationSettings, outputs="attention")
def main(step: Step) -> None:
    step.write(attention=simulate(step.settings, execution_of(step)))
