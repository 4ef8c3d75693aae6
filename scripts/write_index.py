"""Write the index: every table and figure with one line and its verdicts."""

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
    write_index(inputs.tables, figures, captions, lines, step.outputs.index)


if __name__ == "__main__":
    run(main, IndexSettings, ["tables*", "figures*", "animations*", "captions*"], ["index"])
