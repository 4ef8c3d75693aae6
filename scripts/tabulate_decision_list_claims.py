"""Tabulate the claims on decision lists, each with its number, interval and verdict."""

from onelayer.claims import NOTES, readable
from onelayer.papers.decision_lists import claims
from onelayer.step import Step
from onelayer.tables import Report, read_csv, tabulate


def main(step: Step) -> Report:
    table = claims.assemble({name: read_csv(getattr(step.inputs, name)) for name in claims.TABLES})
    return Report(table, readable(table), claims.TITLE, [*claims.NOTES, *NOTES])


if __name__ == "__main__":
    tabulate(main, inputs=claims.TABLES)
