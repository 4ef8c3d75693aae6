"""Write the index: the score, every table and figure with one line, and the verdicts counted."""

from onelayer.evidence.pages import table_page
from onelayer.evidence.sentences import scores
from onelayer.evidence.tables import read_tables
from onelayer.report.index import (
    ALL,
    MEANINGS,
    SCOREBOARD,
    count_all,
    forms_of,
    index_page,
    shown_counts,
    summary,
)
from onelayer.report.overview import overview_page
from onelayer.report.scoreboard import claims, readable
from onelayer.run.step import Step, run
from onelayer.settings.block import Block

COUNTED = "Verdicts, by what was compared"


class IndexSettings(Block):
    """Which caption describes which result."""

    captions: dict[str, str]
    """Caption name by result path without suffix."""


def main(step: Step) -> None:
    inputs, outputs = step.inputs, step.outputs
    folder = outputs.index.parent
    lines = {path.stem: summary(path) for path in inputs.captions}

    def described(files):
        places = [file.relative_to(folder) for file in files]
        captions = step.settings.captions
        return {place: lines[captions[f"results/{place.with_suffix('')}"]] for place in places}

    tables, figures = described(inputs.tables), described([*inputs.figures, *inputs.animations])
    made = read_tables(inputs.tables)
    counts, board = shown_counts(count_all(made)), made[SCOREBOARD]
    score, every_claim = scores(claims(board)), readable(board, made, "tables")
    index = index_page(score, every_claim, counts, tables, figures)
    outputs.index.write_text(index, encoding="utf-8")
    outputs.verdicts.write_text(table_page(counts, COUNTED, MEANINGS), encoding="utf-8")
    shown = [
        (folder / file, str(file.with_suffix(f".{forms_of(file)[-1]}")), line)
        for file, line in figures.items()
    ]
    of_all = counts[counts["table"] == ALL].drop(columns="table")
    outputs.overview.write_text(
        overview_page(inputs.findings.read_text("utf-8"), every_claim, of_all, shown),
        encoding="utf-8",
    )


if __name__ == "__main__":
    run(
        main,
        IndexSettings,
        ["tables*", "figures*", "animations*", "captions*", "findings"],
        ["index", "verdicts", "overview"],
    )
