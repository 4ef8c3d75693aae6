"""Verify the results: recompute the sum of every table and figure in the manifest."""

from onelayer.manifest import verify_manifest
from onelayer.step import Step, log, run


def main(step: Step) -> None:
    log.info("%d tables and figures hold", verify_manifest(step.inputs.manifest))


if __name__ == "__main__":
    run(main, inputs=["manifest"])
