"""Tabulate V trained alone under uniform attention."""

import pandas as pd

from onelayer.papers.decision_lists import tables
from onelayer.settings.block import Block
from onelayer.step import Step, run
from onelayer.tables import write_table

TITLE = "Decision lists: V trained alone under uniform attention (W = 0)"
NOTES = [
    "The paper reports, without numbers, that uniform attention 'is sufficient to push V in the "
    "direction of P'. Population gradient descent on V from V = 0; mean over seeds (smallest to "
    "largest).",
    "Centred cosine: of V and P, each minus its mean. 'Most that any V can': at W = 0 all queries"
    " of a sequence get the same output, so no V classifies more than the most frequent label of "
    "each sequence.",
    "V finds the permutation, and the task stays unsolved: it takes attention.",
]


def main(step: Step) -> None:
    table = tables.value_from_uniform_attention(
        pd.read_parquet(step.inputs.history), pd.read_parquet(step.inputs.ceilings)
    )
    write_table(table, tables.readable_value(table), TITLE, NOTES, **vars(step.outputs))


if __name__ == "__main__":
    run(main, settings=Block, inputs=["history", "ceilings"], outputs=["csv", "md", "tex", "html"])
