"""Tabulate W and V trained together, seed by seed."""

import pandas as pd

from onelayer.papers.decision_lists import tables
from onelayer.settings.block import Block
from onelayer.step import Step, run
from onelayer.tables import write_table

TITLE = "Decision lists: W and V trained together"
NOTES = [
    "Population gradient. Near cP: W = 0, V = cP + uniform noise of sup norm ε / 2, gradient "
    "descent with η = 1 / λ_max at the start. From N(0, σ²): every entry of W and V, the regime "
    "that the authors leave open; learning rates are ours.",
    "'At step': first step at which all sequences (of Theorem 2's sampled row: those drawn and "
    "fresh ones) are classified strictly right, mean over the seeds that got there (smallest to "
    "largest); the CSV has every seed. The last columns are taken at that step.",
    "No published numbers: the paper proves convergence near cP and calls small random starts an "
    "opportunity for future work. These are measurements at small sizes and no proof.",
]


def main(step: Step) -> None:
    table = tables.joint_training(
        pd.read_parquet(step.inputs.near), pd.read_parquet(step.inputs.small)
    )
    write_table(table, tables.readable_joint(table), TITLE, NOTES, **vars(step.outputs))


if __name__ == "__main__":
    run(main, settings=Block, inputs=["near", "small"], outputs=["csv", "md", "tex", "html"])
