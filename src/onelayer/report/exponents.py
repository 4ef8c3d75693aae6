"""With which powers the times and ratios of three papers grow, beside what their theory leaves."""

import pandas as pd

from onelayer.evidence.claims import NOTES, readable, tabulated
from onelayer.evidence.tables import table
from onelayer.papers import PAPERS
from onelayer.papers.decision_lists.claims import time_exponents
from onelayer.papers.scan_snap.rescaling import rescaling_claims
from onelayer.papers.topic_structure.synthetic.claims import ratio_exponents


def readable_exponents(table: pd.DataFrame) -> pd.DataFrame:
    """The claims for readers, each with its paper."""
    return readable(table).drop(columns="place").assign(paper=table["paper"].map(PAPERS).to_numpy())


@table(
    "all_papers/exponents",
    "Exponents",
    "table: exponents",
    title="Exponents of times and ratios, beside theory",
    notes=[
        "Scan and Snap: the exponents of the two learning rates must add up to -1 where steps are "
        "small, because the flow depends on rates times iterations alone. Momentum comes m / (1 - "
        "m) iterations late; by what that takes off the sum, to first order, the sum may be off, "
        "and where it is more than a tenth steps are not small and the row only describes.",
        "Topic structure: the theorem's lower bound goes as tau; whether the optimal ratio does "
        "where T is far above tau is asked beyond it. Intervals: over draws of documents.",
        "Decision lists: the bound is 4 M / (log(L) gamma); it says nothing of how the time grows "
        "below it. Times are exact: intervals are a jackknife over sizes, not over samples, and "
        "within a tenth counts. gamma and log L are correlated over the sizes there are.",
        "All judged rows are analogues: no paper states the exponents that they are compared with.",
        *NOTES,
    ],
    readable=readable_exponents,
    reads={
        "transitions": "simulate_slow_transitions.attention",
        "ratios": "optimise_attention_over_T.ratios",
        "solved": "solve_decision_lists.solved",
    },
    settings={"momentum": "scan_snap.transition.momentum"},
)
def exponents(
    transitions: pd.DataFrame, ratios: pd.DataFrame, solved: pd.DataFrame, momentum: float
) -> pd.DataFrame:
    """The exponents of three papers, each with how near it is to a theory's limit.

    `level` is by how much rates are divided, or T / tau; rows at the largest are `nearest`.
    """
    papers = {
        "scan_snap": rescaling_claims(transitions, momentum),
        "topic_structure": ratio_exponents(ratios),
        "decision_lists": time_exponents(solved),
    }
    return tabulated(
        claim._replace(keys={"paper": paper, **claim.keys})
        for paper, claims in papers.items()
        for claim in claims
    )
