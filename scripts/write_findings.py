"""Write the findings: sentences whose numbers and verbs come from the tables."""

from onelayer.evidence.sentences import all_said, page
from onelayer.evidence.tables import read_tables
from onelayer.papers.findings import BY_TITLE
from onelayer.run.step import Step, program


@program(inputs="tables*", outputs="findings")
def main(step: Step) -> None:
    tables = read_tables(step.inputs.tables)
    step.outputs.findings.write_text(page(all_said(BY_TITLE, tables), tables), encoding="utf-8")
