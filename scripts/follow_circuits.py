"""Follow values and attention of the four papers' models from their start on."""

from onelayer.compute.execution import execution_of
from onelayer.report.circuits import follow_papers
from onelayer.run.step import Step, program
from onelayer.settings.circuits import CircuitSettings


@program(settings=CircuitSettings, outputs="distances")
def main(step: Step) -> None:
    step.write(distances=follow_papers(step.settings, execution_of(step)))
