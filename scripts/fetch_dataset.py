"""Fetch a split of a dataset, or a part of it, from a Hugging Face hub at a pinned commit."""

import json

from onelayer.run.step import Step, program
from onelayer.settings.corpus import DatasetPart
from onelayer.text.corpus.hub_dataset import fetch_rows


@program(outputs="rows files", downloads=True)
def main(step: Step, part: DatasetPart) -> None:
    sources = fetch_rows(part, step.outputs.rows)
    step.write(files=json.dumps(sources, indent=1) + "\n")
