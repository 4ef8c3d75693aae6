"""Tabulate the claims of Local to Global, each with its number, interval and verdict."""

from onelayer.claims import readable
from onelayer.papers.local_to_global import claims
from onelayer.papers.local_to_global.training_tables import read_published
from onelayer.settings.local_to_global import ClaimSettings
from onelayer.step import Step
from onelayer.tables import Report, read_csv, tabulate


def main(step: Step) -> Report:
    tables = {path.stem: read_csv(path) for path in step.inputs.measured}
    table = claims.assemble(tables, read_published(step.inputs.published), step.settings)
    return Report(table, readable(table), claims.TITLE, claims.NOTES)


if __name__ == "__main__":
    tabulate(main, settings=ClaimSettings, inputs=["measured*", "published"])
