"""Verify the results: compare every file with the record of the step that made it."""

from onelayer.manifest import verify_results
from onelayer.step import Step, log, run


def main(step: Step) -> None:
    log.info(verify_results(step.inputs.results))


if __name__ == "__main__":
    run(main, inputs=["results/"])
