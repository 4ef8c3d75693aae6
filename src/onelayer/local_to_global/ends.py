"""Where simulated flows end, beside what theory says (lemma 1, theorems 2 and 3).

With the attention scalar this is known without an integral: ds/dt = -h(s) |grad s|^2, so that s
moves towards s* and never past it, and every critical point with s other than s* has s = 0. So a
start whose s has the sign of s* ends at a global minimum, wherever it lies.
"""

import numpy as np
import pandas as pd

from onelayer.evidence.intervals import share
from onelayer.local_to_global import basins, canonical
from onelayer.local_to_global.chain import Chain
from onelayer.local_to_global.critical_points import UNFINISHED, outcome

NEAR = 0.1  # starts of at most this scale are near the origin (Fig. 5)
ALL = {"published": 1.0, "null": 0.5}  # theory says all flows; half of them would be no effect


def of_grid(theta: np.ndarray, start: np.ndarray, chain: Chain) -> dict[str, dict]:
    """Rows by quantity of the ends theta [2, N] of the flow of (e, w) from a grid [2, N].

    A start at e = 0 must stay; one at w = 0 has no energy to drift.
    """
    label, reached = basins.basin(*start, chain), outcome(theta, chain)
    expected = np.where(label == basins.GLOBAL, basins.GLOBAL, basins.LOCAL)
    stays = label == basins.STAYS
    agrees = np.where(stays, (theta == start).all(axis=0), reached == expected)
    drift = abs(canonical.energy(*theta) - canonical.energy(*start))[~stays]
    away = abs(theta - basins.limit_points(*start, chain)).max()
    return {
        "basin_agreement": share(int(agrees.sum()), len(label)) | ALL,
        "energy_drift": _error(np.nanmax(drift, initial=0.0), len(label)),
        "loss_error": _loss_error(theta, reached, chain),
        "limit_point_error": _error(away, len(label)),
        "global_area": {"value": float((reached == basins.GLOBAL).mean()), "n": len(label)},
    }


def with_attention(part: pd.DataFrame, chain: Chain, sigma: float) -> dict[str, dict]:
    """Rows by quantity of the flows of (e, w, a) from the starts of one scale."""
    start, end = (part[names].to_numpy().T for names in (["e_0", "w_0", "a_0"], ["e", "w", "a"]))
    reached, n = outcome(end, chain), len(part)
    to_global = reached == basins.GLOBAL
    drift = canonical.energy(*end) - canonical.energy(*start)
    near = {"published": float(chain.below), "null": 0.5} if sigma <= NEAR else {}
    rows = {
        "arrival_share": share(int((reached != UNFINISHED).sum()), n) | ALL,
        "energy_drift": _error(np.nanmax(abs(drift)), n),
        "loss_error": _loss_error(end, reached, chain),
        "global_share": share(int(to_global.sum()), n) | near,
        "local_share": share(int((reached == basins.LOCAL).sum()), n),
        "global_share_without_a": {"value": basins.probability_global(sigma, chain)},
    }
    decided = np.sign(canonical.logit_gap(*start)) == np.sign(chain.s_star)
    if decided.any():
        went = share(int(to_global[decided].sum()), int(decided.sum()))
        rows["decided_global_share"] = went | ALL
    return rows


def _error(value: float, n: int) -> dict[str, float]:
    return {"value": value, "published": 0.0, "n": n}


def _loss_error(theta: np.ndarray, reached: np.ndarray, chain: Chain) -> dict[str, float]:
    """The largest |L - H| of ends theta [2 or 3, N]."""
    loss = canonical.loss(canonical.logit_gap(*theta), chain)
    level = np.where(reached == basins.GLOBAL, chain.bigram_entropy, chain.unigram_entropy)
    return _error(abs(loss - level).max(), len(reached))


def pooled(rows: pd.DataFrame) -> dict[str, float]:
    """The share of all rows together, with the interval that the starts of one row give.

    All chains and scales have the same starts: on one side of p + q = 1 they mostly fail together.
    """
    value, starts = np.average(rows["value"], weights=rows["n"]), int(rows["n"].max())
    return share(round(value * starts), starts) | {"value": float(value)}
