"""Train through the phase transition again at smaller learning rates."""

from onelayer.compute.execution import execution_of
from onelayer.papers.scan_snap.simulation import simulate_slower
from onelayer.run.step import Step, program
from onelayer.settings.block import Computing
from onelayer.settings.scan_snap import SimulationSettings, SlowSettings


@program(settings=Computing, outputs="attention")
def main(step: Step, transition: SimulationSettings, slow: SlowSettings) -> None:
    step.write(attention=simulate_slower(transition, slow, execution_of(step)))
