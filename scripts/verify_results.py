"""Verify the results: compare every file with the record of the step that made it."""

from onelayer.manifest import verify_results
from onelayer.step import Step, log, run


def main(step: Step) -> None:
    shown, before = verify_results(step.inputs.results)
    log.info("%d tables and figures hold, and %d files that led to them", shown, before)


if __name__ == "__main__":
    run(main, inputs=["results/"])
