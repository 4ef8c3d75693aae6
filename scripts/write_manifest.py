"""Write the manifest: sum and provenance of every table, figure and animation."""

import json

from onelayer.report.manifest import build_manifest, read_records
from onelayer.run.step import Step, program


@program(inputs="results*", outputs="manifest")
def main(step: Step) -> None:
    manifest = build_manifest(step.inputs.results, read_records(step.outputs.manifest.parent))
    text = json.dumps(manifest, indent=1, sort_keys=True)
    step.outputs.manifest.write_text(text + "\n", encoding="utf-8")
