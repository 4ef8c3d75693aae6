"""Write the index: the score, every table and figure with one line, and the verdicts counted."""

from onelayer.evidence.pages import table_page
from onelayer.evidence.tables import read_tables
from onelayer.report.index import MEANINGS, SCOREBOARD, count_rows, forms_of, index_page
from onelayer.report.overview import overview_page
from onelayer.report.registry import summary
from onelayer.report.scoreboard import readable
from onelayer.run.step import Step, program

COUNTED = "Verdicts of all rows, by paper"


@program(
    inputs="tables* figures* animations* captions* findings", outputs="index verdicts overview"
)
def main(step: Step, captions: dict[str, str]) -> None:
    """Captions are names of files by the path of a result without its suffix."""
    inputs, outputs = step.inputs, step.outputs
    folder = outputs.index.parent
    lines = {path.stem: summary(path) for path in inputs.captions}

    def described(files):
        places = [file.relative_to(folder) for file in files]
        return {place: lines[captions[f"results/{place.with_suffix('')}"]] for place in places}

    tables, figures = described(inputs.tables), described([*inputs.figures, *inputs.animations])
    made, findings = read_tables(inputs.tables), inputs.findings.read_text("utf-8")
    counts = count_rows(made)
    index = index_page(findings, counts, tables, figures)
    outputs.index.write_text(index, encoding="utf-8")
    outputs.verdicts.write_text(table_page(counts, COUNTED, MEANINGS), encoding="utf-8")
    shown = [
        (folder / file, str(file.with_suffix(f".{forms_of(file)[-1]}")), line)
        for file, line in figures.items()
    ]
    every_claim = readable(made[SCOREBOARD], made, "tables")
    overview = overview_page(findings, every_claim, counts, shown)
    outputs.overview.write_text(overview, encoding="utf-8")
