"""Write the findings: sentences whose numbers and verbs come from the tables."""

from onelayer.evidence.sentences import Places, all_said, page
from onelayer.evidence.tables import read_tables
from onelayer.papers.findings import BY_TITLE, figures_beside
from onelayer.run.step import Step, program


@program(inputs="tables*", outputs="findings")
def main(step: Step, figures: list[str]) -> None:
    tables = read_tables(step.inputs.tables)
    places = Places(tables, figures_beside(tables, figures))
    step.write(findings=page(all_said(BY_TITLE, tables), places))
