"""Train transformers on more states, on the second order and with two layers."""

from onelayer.compute.execution import execution_of
from onelayer.papers.local_to_global.open_problems import train_sources
from onelayer.run.step import Step, program
from onelayer.settings.block import Computing
from onelayer.settings.local_to_global import OpenProblemsSettings


@program(settings=Computing, outputs="curves")
def main(step: Step, open_problems: OpenProblemsSettings) -> None:
    step.write(curves=train_sources(open_problems, execution_of(step)))
