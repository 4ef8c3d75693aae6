"""Fetch a split of a dataset, or a part of it, from a Hugging Face hub at a pinned commit."""

import json

from onelayer.run.step import Step, program, scratch_folder
from onelayer.settings.corpus import DatasetPart
from onelayer.text.corpus.hub_dataset import fetch_rows


@program(outputs="rows files", downloads=True)
def main(step: Step, part: DatasetPart) -> None:
    with scratch_folder(step.outputs.rows) as scratch:
        sources = fetch_rows(part, step.outputs.rows, scratch)
    step.outputs.files.write_text(json.dumps(sources, indent=1) + "\n", encoding="utf-8")
