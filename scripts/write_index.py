"""Write the index: every table and figure with one line and the verdicts counted."""

from onelayer.index import (
    ALL,
    MEANINGS,
    count_verdicts,
    forms_of,
    index_page,
    shown_counts,
    summary,
)
from onelayer.overview import overview_page
from onelayer.pages import table_page
from onelayer.settings.block import Block
from onelayer.step import Step, run
from onelayer.tables import read_tables

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
    counts = shown_counts(
        {name: count_verdicts(table) for name, table in read_tables(inputs.tables).items()}
    )
    outputs.index.write_text(index_page(counts, tables, figures), encoding="utf-8")
    outputs.verdicts.write_text(table_page(counts, COUNTED, MEANINGS), encoding="utf-8")
    shown = [
        (folder / file, str(file.with_suffix(f".{forms_of(file)[-1]}")), line)
        for file, line in figures.items()
    ]
    of_all = counts[counts["table"] == ALL].drop(columns="table")
    outputs.overview.write_text(
        overview_page(inputs.findings.read_text("utf-8"), of_all, shown), encoding="utf-8"
    )


if __name__ == "__main__":
    run(
        main,
        IndexSettings,
        ["tables*", "figures*", "animations*", "captions*", "findings"],
        ["index", "verdicts", "overview"],
    )
