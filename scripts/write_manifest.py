"""Write the manifest: sum and provenance of every table, figure and animation."""

import json

from onelayer.manifest import build_manifest
from onelayer.settings.block import Block
from onelayer.step import Step, run


def main(step: Step) -> None:
    inputs = step.inputs
    results = [*inputs.tables, *inputs.figures, *inputs.animations]
    manifest = build_manifest(results, inputs.records)
    text = json.dumps(manifest, indent=1, sort_keys=True)
    step.outputs.manifest.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    run(
        main,
        settings=Block,
        inputs=["tables*", "figures*", "animations*", "records*"],
        outputs=["manifest"],
    )
