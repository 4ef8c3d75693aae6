"""Set every claim of the four papers beside ours, with a verdict: the scoreboard."""

from onelayer.evidence.tables import read_tables
from onelayer.papers.findings import CLAIMS
from onelayer.report.scoreboard import report
from onelayer.run.step import Step, run


def main(step: Step) -> None:
    report(CLAIMS, read_tables(step.inputs.judged)).write(*step.outputs.tables)


if __name__ == "__main__":
    run(main, inputs=["judged*"], outputs=["tables*"])
