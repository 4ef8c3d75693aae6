"""Describe the run as a crate: every table, figure and animation, and the steps behind them."""

from onelayer.report.crate.metadata import Contents, describe
from onelayer.report.records import commit, read_records, steps_behind
from onelayer.run.provenance import sums
from onelayer.run.step import Step, program


@program(inputs="results*", outputs="metadata")
def main(step: Step) -> None:
    digests = sums(sorted(step.inputs.results))
    results = step.outputs.metadata.parent
    steps = steps_behind(digests, read_records(results))
    contents = Contents(results, digests, steps, commit(), digests)
    step.outputs.metadata.write_bytes(describe(contents))
