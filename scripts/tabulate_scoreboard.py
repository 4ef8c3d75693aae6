"""Set every claim of the four papers beside ours, with a verdict: the scoreboard."""

from onelayer.papers.findings import CLAIMS
from onelayer.scoreboard import report
from onelayer.step import Step
from onelayer.tables import Report, read_tables, tabulate


def main(step: Step) -> Report:
    return report(CLAIMS, read_tables(step.inputs.judged))


if __name__ == "__main__":
    tabulate(main, inputs=["judged*"])
