"""Train transformers on chains with a trap, and follow the curvature at the unigram model."""

from onelayer.compute.execution import execution_of
from onelayer.papers.local_to_global.trap import train_trap
from onelayer.run.step import Step, program
from onelayer.settings.local_to_global import TrapSettings


@program(settings=TrapSettings, outputs="curves")
def main(step: Step) -> None:
    step.write(curves=train_trap(step.settings, execution_of(step)))
