"""Write the findings: sentences whose numbers and verbs come from the tables."""

import pandas as pd

from onelayer.evidence.sentences import Places, all_said, page
from onelayer.evidence.tables import read_tables
from onelayer.papers.findings import BY_TITLE, figures_beside
from onelayer.run.step import Step, program


@program(inputs="tables* predictions", outputs="findings")
def main(step: Step, figures: list[str]) -> None:
    tables = read_tables(step.inputs.tables)
    predictions = pd.read_csv(step.inputs.predictions, index_col="claim")["prediction"]
    places = Places(tables, figures_beside(tables, figures), predictions.to_dict())
    step.write(findings=page(all_said(BY_TITLE, tables), places))
