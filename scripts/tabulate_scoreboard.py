"""Set every claim of the four papers beside ours, with a verdict: the scoreboard."""

from onelayer.evidence.tables import read_tables
from onelayer.papers.findings import CLAIMS
from onelayer.report.scoreboard import report
from onelayer.run.step import Step, program


@program(inputs="judged*", outputs="tables*")
def main(step: Step) -> None:
    report(CLAIMS, read_tables(step.inputs.judged)).write(*step.outputs.tables)
