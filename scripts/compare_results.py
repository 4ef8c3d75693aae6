"""Compare the tables with those of the reference run: how many rows agree, which verdicts moved."""

import json

from onelayer.comparison import compare_runs, summary
from onelayer.step import Step, log, run


def main(step: Step) -> None:
    machine = json.loads(step.inputs.machine.read_text("utf-8"))
    found = compare_runs(step.inputs.ours, step.inputs.theirs)
    for line in summary(found, machine).splitlines():
        log.info(line)


if __name__ == "__main__":
    run(main, inputs=["ours*", "theirs*", "machine"])
