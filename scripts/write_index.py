"""Write the index: every table and figure with one line and its verdicts."""

from onelayer.index import first_sentence, write_index
from onelayer.settings.block import Block
from onelayer.step import Step, run


class IndexSettings(Block):
    """Which caption describes which result."""

    captions: dict[str, str]
    """Caption name by result path without suffix."""


def main(step: Step) -> None:
    lines = {
        path.stem: first_sentence(path.read_text(encoding="utf-8")) for path in step.inputs.captions
    }
    write_index(
        step.inputs.tables,
        [*step.inputs.figures, *step.inputs.animations],
        step.settings.captions,
        lines,
        step.outputs.index,
    )


if __name__ == "__main__":
    run(
        main,
        settings=IndexSettings,
        inputs=["tables*", "figures*", "animations*", "captions*"],
        outputs=["index"],
    )
