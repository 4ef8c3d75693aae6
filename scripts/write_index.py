"""Write the index: the score, every table and figure with one line, and the verdicts counted."""

from onelayer.report.index import pages
from onelayer.report.registry import summary
from onelayer.run.step import Step, program


@program(
    inputs="tables* figures* animations* captions* findings", outputs="index verdicts overview"
)
def main(step: Step, captions: dict[str, str]) -> None:
    """Captions are names of files by the path of a result without its suffix."""
    inputs, folder = step.inputs, step.outputs.index.parent
    said = {path.stem: summary(path) for path in inputs.captions}
    lines = {result: said[caption] for result, caption in captions.items()}
    files = inputs.tables, [*inputs.figures, *inputs.animations]
    step.write(**pages(folder, *files, lines, inputs.findings.read_text("utf-8")))
