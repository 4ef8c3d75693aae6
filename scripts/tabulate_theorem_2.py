"""Tabulate Theorem 2: hypotheses, window of steps, observed step."""

import pandas as pd

from onelayer.papers.decision_lists import tables
from onelayer.settings.block import Block
from onelayer.step import Step, run
from onelayer.tables import write_table

TITLE = "Decision lists, Theorem 2: W and V trained together near V = cP"
NOTES = [
    "Gradient descent with η = 1 / λ_max from W = 0 and V = cP + noise of sup norm ε / 2, c = 10 "
    "n² L₀ / δ + 4 ε n; means over seeds with 95% t-intervals. λ_max is taken at each run's own "
    "start, L₀ at V = cP, δ = 1: the abstract leaves these open, so they are ours.",
    "The hypotheses ask for an A with sqrt(4 m L₀ / ε) < A < L₀ - 6 ε / n. Some ε meets them only"
    " where n log(n)² > 162 m, that is n of 19, 29, 38 or more for m of 1, 2, 3; elsewhere "
    "nothing is promised and the row has no verdict.",
    "Where they hold, 'published' beside observed_step is the window's beginning 2 m L₀ / (A² η) "
    "with the largest A, the earliest T for which a perfect step up to T is promised; 'within' "
    "means that every seed was perfect by then.",
    "'sequences': all, or how many were drawn and trained on; perfect then means on those and on "
    "as many fresh ones as the settings say, which is evidence and no proof.",
]


def main(step: Step) -> None:
    table = tables.theorem_2(pd.read_parquet(step.inputs.near))
    write_table(table, tables.readable_theorem_2(table), TITLE, NOTES, **vars(step.outputs))


if __name__ == "__main__":
    run(main, settings=Block, inputs=["near"], outputs=["csv", "md", "tex", "html"])
