"""Write the index: every table and figure with one line and the verdicts counted."""

from onelayer.index import first_sentence, write_index
from onelayer.settings.block import Block
from onelayer.step import Step, run


class IndexSettings(Block):
    """Which caption describes which result."""

    captions: dict[str, str]
    """Caption name by result path without suffix."""


def main(step: Step) -> None:
    inputs, captions = step.inputs, step.settings.captions
    lines = {path.stem: first_sentence(path.read_text("utf-8")) for path in inputs.captions}
    figures = [*inputs.figures, *inputs.animations]
    outputs = step.outputs
    write_index(inputs.tables, figures, captions, lines, outputs.index, outputs.verdicts)


if __name__ == "__main__":
    run(
        main,
        IndexSettings,
        ["tables*", "figures*", "animations*", "captions*"],
        ["index", "verdicts"],
    )
