"""Fetch one file of a corpus out of a repository on a Hugging Face hub, at a pinned commit."""

from onelayer.hub import Repository
from onelayer.settings.hub import HubFiles
from onelayer.step import Step, run


def main(step: Step) -> None:
    (file,) = step.settings.files
    Repository("dataset", step.settings).fetch(file, step.outputs.shard)


if __name__ == "__main__":
    run(main, settings=HubFiles, outputs=["shard"], downloads=True)
