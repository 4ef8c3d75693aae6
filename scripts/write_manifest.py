"""Write the manifest: sum and provenance of every table, figure and animation."""

import json

from onelayer.report.manifest import build_manifest, read_records
from onelayer.run.step import Step, run


def main(step: Step) -> None:
    records = read_records(step.outputs.manifest.parent)
    manifest = build_manifest(step.inputs.results, records)
    text = json.dumps(manifest, indent=1, sort_keys=True)
    step.outputs.manifest.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    run(main, inputs=["results*"], outputs=["manifest"])
