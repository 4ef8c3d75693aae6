"""Tabulate Theorem 1: time to perfect classification beside the bound."""

import pandas as pd

from onelayer.papers.decision_lists import tables
from onelayer.settings.block import Block
from onelayer.step import Step, run
from onelayer.tables import write_table

TITLE = "Decision lists, Theorem 1: time to perfect classification of all sequences, W only"
NOTES = [
    "Exact: reduced gradient flow from W = 0, V = cP, uniform sequences of n distinct tokens, "
    "lists of equal length m. t* is the first time at which every sequence is classified strictly"
    " right. 'List order' is the share of adjacent list pairs with W[a_k, a] > W[a_{k+1}, a].",
    "The paper publishes no numbers but the bound 4 m / (log(L) γ), which stands in 'published' "
    "beside t_star; 'within' means that t* is at most the bound, and 'bound / t*' how loose it "
    "is.",
    "γ and δ are ours: the abstract only says that they depend on the least probability mass of "
    "'certain quantities'. γ = min over tokens a and list places k of P(s_j = a and a_k "
    "determines its label); δ = 1 in c = 4 n log(L) / δ unless stated.",
    "The bound does not depend on δ, t* grows about as δ², so how loose the bound is depends on "
    "δ. Rows with δ above 1, which is no probability mass, are not judged.",
]


def main(step: Step) -> None:
    table = tables.theorem_1(pd.read_parquet(step.inputs.solved))
    write_table(table, tables.readable_theorem_1(table), TITLE, NOTES, **vars(step.outputs))


if __name__ == "__main__":
    run(main, settings=Block, inputs=["solved"], outputs=["csv", "md", "tex", "html"])
