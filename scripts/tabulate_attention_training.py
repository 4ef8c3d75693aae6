"""Tabulate every run on the full matrix W beside the exact reduced flow."""

import pandas as pd

from onelayer.papers.decision_lists import tables
from onelayer.settings.block import Block
from onelayer.step import Step, run
from onelayer.tables import write_table

TITLE = "Decision lists: training the full matrix W, V = cP"
NOTES = [
    "Methods: 'full', population gradient flow over all sequences; 'sampled', the flow with fresh"
    " sequences at every step; 'descent', stochastic gradient descent on fresh sequences, time = "
    "learning rate × steps. Flows by Heun's method.",
    "t* is the time at which the last query token is learned; 'median token' the median over "
    "query tokens. 'ratio' compares with the exact reduced flow, which exists for uniform "
    "sequences: t* of 'full', the median token of the others (with fresh sequences the last token"
    " is late by chance).",
    "'certified' is the share of query tokens a with W[a_1, a] > ... > W[a_m, a] > all others, a "
    "proof for every sequence of distinct tokens; 'accuracy' is over all sequences for 'full' and"
    " over the last draw for the others.",
    "The bound is Theorem 1's, 4 m / (log(L) γ), for population flow; 'within' means at most "
    "that. For 'sampled' and 'descent', which the theorem does not speak of, the same is checked."
    " γ and δ are ours: the abstract only says that they depend on the least probability mass of "
    "'certain quantities'. γ = min over tokens a and list places k of P(s_j = a and a_k "
    "determines its label); δ = 1 in c = 4 n log(L) / δ unless stated.",
]


def main(step: Step) -> None:
    table = tables.attention_training(pd.read_parquet(step.inputs.runs))
    write_table(
        table, tables.readable_attention_training(table), TITLE, NOTES, **vars(step.outputs)
    )


if __name__ == "__main__":
    run(main, settings=Block, inputs=["runs"], outputs=["csv", "md", "tex", "html"])
