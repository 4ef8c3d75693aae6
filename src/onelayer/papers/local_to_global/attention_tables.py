"""The tables of the gradient flow with the attention scalar (theorem 3), and of p + q = 1.

What is known without an integral: ds/dt = -h(s) |grad s|^2, so that s moves towards s* and never
past it, and every critical point with s other than s* has s = 0. So a start whose s has the sign of
s* ends at a global minimum, wherever it lies. Of the others Gaussian starts tell.
"""

import numpy as np
import pandas as pd

from onelayer.evidence.intervals import share
from onelayer.evidence.tables import interval, number, table, tidy
from onelayer.evidence.verdicts import judge, worded
from onelayer.papers.local_to_global import basins, canonical
from onelayer.papers.local_to_global.chain import INDEPENDENT, Chain
from onelayer.papers.local_to_global.flow_tables import (
    MAJORITY,
    NORMAL,
    critical_point_table,
    readable_critical_points,
    with_runs,
)
from onelayer.papers.local_to_global.theory import (
    UNFINISHED,
    critical_points_with_attention,
    outcome_with_attention,
)
from onelayer.settings.local_to_global import ChainSettings

KEYS = ["p", "q", "model", "start", "sigma"]
START, END = ("e_0", "w_0", "a_0"), ("e", "w", "a")  # columns of `simulation.attention_starts`
QUANTITIES = (
    *("arrival_share", "energy_drift", "loss_error"),
    *("global_share", "global_share_without_a", "decided_global_share"),
)
NEAR = 0.1  # starts of at most this scale are near the origin (figure 5)


@table(
    "local_to_global/critical_points_with_attention",
    "Gradient flow",
    "table: critical points with attention",
    title="Critical points of the loss with the attention scalar, computed and in theory",
    notes=[
        "As the table without a: closed forms, the worst of the representatives; with a = -.5 and "
        ".5, and e the positive roots. Flow returns: of 64 starts on a sphere of radius .05.",
        "With attention there is a third set, w = -1/sqrt 2 with a e^2 = -1: saddles with e other "
        "than 0, at the loss of the unigram model. The model without a has none of them.",
        "Verdict: whether the flow returns as theory says (no effect: half of the flows); for the "
        "saddles on e = 0, their loss.",
    ],
    readable=readable_critical_points,
    reads={"neighbours": "simulate_attention_flow.neighbours"},
    settings={"chains": "local_to_global.flow.chains"},
)
def points_with_attention(neighbours: pd.DataFrame, chains: list[ChainSettings]) -> pd.DataFrame:
    """Critical points of the loss with the attention scalar beside what theorem 3 says of them.

    Args:
        neighbours: `simulation.neighbours` of these points.
        chains: of the rows.
    """
    return critical_point_table(chains, neighbours, critical_points_with_attention)


def readable_attention_flow(table: pd.DataFrame) -> pd.DataFrame:
    """A row per chain, model and scale of the start."""
    rows = []
    for (p, q, model, start, _), part in table.groupby(KEYS, sort=False):
        by = part.set_index("quantity").reindex(QUANTITIES)
        value = by["value"]
        shown = by.loc["arrival_share" if is_independent(Chain(p, q)) else "global_share"]
        rows.append(
            {
                "p": f"{p:g}",
                "q": f"{q:g}",
                "model": model,
                "start": start,
                "arrives": number(value["arrival_share"], 4),
                "energy drift": f"{value['energy_drift']:.0e}",
                "loss error": f"{value['loss_error']:.0e}",
                "global share [95%]": interval(
                    *by.loc["global_share", ["value", "low", "high"]], 3
                ),
                "theory": number(by.loc["global_share", "published"], 0),
                "without a": number(value["global_share_without_a"], 3),
                "decided": number(value["decided_global_share"], 4),
                "verdict": worded(shown),
            }
        )
    return pd.DataFrame(rows)


@table(
    "local_to_global/flow_with_attention",
    "Gradient flow",
    "table: ends of the flow with attention, and p + q = 1",
    title="Where the gradient flow with the attention scalar ends, and p + q = 1",
    notes=[
        "Arrives: share of the flows that end on one of the three sets of critical points. Energy "
        "drift: the largest |change of E| = |e^2 - w^2 - sign(w) log|w| - 2 a^2|; loss error: the "
        "largest |L - H| at the ends.",
        f"Global share: beside it what the paper says of starts near the origin (sigma at most "
        f"{NEAR:g}): all for p + q < 1, none for p + q > 1. Without a: the integral of the "
        "Gaussian over the basin without attention.",
        "Decided: of the starts whose s has the sign of s*, the share that ends at a global "
        "minimum; all must, because the loss falls along the flow and all other critical points "
        "have s = 0.",
        "p + q = 1: the symbols are independent, unigram and bigram entropy are equal, and every "
        "point with s = 0 is a global minimum; the theorems leave it out. Arrives: at s = 0.",
    ],
    readable=readable_attention_flow,
    reads={"ends": "simulate_attention_flow.ends"},
)
def attention_flow_table(ends: pd.DataFrame) -> pd.DataFrame:
    """Where the flow ends, by chain, model and scale of the start.

    Args:
        ends: `simulation.attention_starts`.
    """
    rows = []
    for (p, q, model, sigma), part in ends.groupby(["p", "q", "model", "sigma"], sort=False):
        key = {"p": p, "q": q, "model": model, "start": NORMAL.format(sigma), "sigma": sigma}
        rows += [key | row for row in _of_starts(part, Chain(p, q), sigma)]
    return judged_flow(tidy(rows, KEYS))


def judged_flow(table: pd.DataFrame) -> pd.DataFrame:
    """Verdicts of a table of the flow's ends that has its values."""
    return judge(with_runs(table), MAJORITY)


def _of_starts(part: pd.DataFrame, chain: Chain, sigma: float) -> list[dict]:
    """Rows of one chain, model and scale."""
    start, end = (part[list(names)].to_numpy().T for names in (START, END))
    reached = outcome_with_attention(end, chain)
    arrived = share(int((reached != UNFINISHED).sum()), len(part))
    on_locus = reached == basins.GLOBAL
    loss = canonical.loss(canonical.logit_gap(*end), chain)
    level = np.where(on_locus, chain.bigram_entropy, chain.unigram_entropy)
    drift = canonical.energy(*end) - canonical.energy(*start)
    rows = [
        arrived | {"quantity": "arrival_share", "published": 1.0},
        {"quantity": "energy_drift", "value": np.nanmax(abs(drift)), "n": len(part)},
        {"quantity": "loss_error", "value": abs(loss - level).max(), "n": len(part)},
    ]
    if is_independent(chain):
        return rows
    found = share(int(on_locus.sum()), len(part)) | {"quantity": "global_share"}
    if sigma <= NEAR:
        found["published"] = float(chain.s_star > 0)
        found["note"] = "beside it: theorem 3 and figure 5, near the origin"
    without = basins.probability_global(sigma, chain)
    rows += [found, {"quantity": "global_share_without_a", "value": without, "n": 1}]
    decided = np.sign(canonical.logit_gap(*start)) == np.sign(chain.s_star)
    if decided.any():
        ends_so = share(int(on_locus[decided].sum()), int(decided.sum()))
        rows.append(ends_so | {"quantity": "decided_global_share", "published": 1.0})
    return rows


def is_independent(chain: Chain) -> bool:
    """Whether p + q = 1."""
    return abs(chain.p + chain.q - 1) < INDEPENDENT
