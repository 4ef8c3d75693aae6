"""When the stages of training end and begin, read off the norms of W_K and W_V.

'Observation: two-stage optimization process': W_V grows first while W_K and W_Q stay near their
initial values, then these grow while W_V stays relatively flat.
"""

import math
from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd

from onelayer.evidence.intervals import median, share
from onelayer.settings.topic_structure_synthetic import TwoStageSettings
from onelayer.topic_structure.synthetic.summary import estimated, over_runs

VALUE_DONE, KEYS_BEGIN = 0.9, 1.1  # shares of W_V's maximum and of W_K's initial value
VALUE_NEARLY_DONE = 0.8  # for runs whose W_V grows again, late in stage 2
TIMES = {"t_V": math.inf, "t_KQ": math.inf, "value_share_at_t_KQ": 1.0}  # and the most they can be
LEAST_RUNS = 6  # fewer cannot tell a share from a half, even if they all agree
RUN = ["kind", "name", "learning_rate", "noise", "seed"]


def stage_times(norms: pd.DataFrame) -> pd.DataFrame:
    """When the stages of every run end and begin.

    Args:
        norms: rows of `two_stages`, in the order of steps.

    Returns:
        A row per run: its keys, `t_V` (first step with |W_V| >= 90% of its maximum), `t_KQ` (first
        step with |W_K| >= 110% of its initial value; NaN: never), `value_share_at_t_KQ` (|W_V| then
        over its maximum), `in_order` (0 < t_V <= t_KQ: a W_V that starts large has no first stage),
        `nearly_in_order` (the same with 80% of the maximum), `diverged_at`.
    """
    return pd.DataFrame(
        dict(zip(RUN, keys, strict=True)) | _times(run)
        for keys, run in norms.groupby(RUN, sort=False)
    )


def _times(run: pd.DataFrame) -> dict:
    step, W_V, W_K = (run[name].to_numpy() for name in ("step", "W_V", "W_K"))
    times = {"diverged_at": int(run["diverged_at"].iloc[0])}
    times |= dict.fromkeys(["t_V", "t_KQ", "value_share_at_t_KQ"], np.nan)
    times |= {"in_order": False, "nearly_in_order": False}
    if times["diverged_at"] >= 0:
        return times
    times["t_V"], nearly = (
        float(step[np.argmax(share * W_V.max() <= W_V)])
        for share in (VALUE_DONE, VALUE_NEARLY_DONE)
    )
    grown = KEYS_BEGIN * W_K[0] <= W_K
    if not grown.any():
        return times
    begins = int(np.argmax(grown))
    return times | {
        "t_KQ": float(step[begins]),
        "value_share_at_t_KQ": float(W_V[begins] / W_V.max()),
        "in_order": bool(0 < times["t_V"] <= step[begins]),
        "nearly_in_order": bool(0 < nearly <= step[begins]),
    }


def stage_rows(
    norms: pd.DataFrame, block: TwoStageSettings, published: Mapping[str, float]
) -> Iterator[dict]:
    """Rows of the table: times and shares of each setting; of a map, its cells that are in order.

    `published` has the paper's steps by quantity, for the setting that is `pictured`.
    """
    for one in (*block.settings, *block.maps):
        kind = "map" if one in block.maps else "setting"
        runs = stage_times(norms[(norms["kind"] == kind) & (norms["name"] == one.name)])
        keys = {"studied": kind, "setting": one.name, "loss": one.loss, "optimizer": one.optimizer}
        keys["masked"] = "attended" if one.masked_attended else "hidden"
        if kind == "map":
            hits = runs.groupby(["learning_rate", "noise"])["in_order"].mean() > 0.5
            cells = {"quantity": "share_of_cells_in_order", "value": hits.mean(), "n": len(hits)}
            yield keys | cells
            continue
        keys |= {"learning_rate": one.learning_rate, "noise": one.noise}
        through, rows = runs[runs["diverged_at"] < 0], {}
        for quantity, most in TIMES.items():
            rows[quantity] = over_runs(through[quantity], -1, 0.0, most)
            if math.isinf(most):
                reached, name = through[quantity].dropna(), f"{quantity}_median"
                rows[name] = estimated(median(reached.to_numpy(float)))
                rows[name]["published"] = published[name] if one.pictured else math.nan
                for which in (1, 3):
                    cut = {"value": reached.quantile(which / 4), "n": len(reached)}
                    rows[f"{quantity}_quartile_{which}"] = cut
        shares = {f"share_{name}": through[name] for name in ("in_order", "nearly_in_order")}
        for name, hits in (shares | {"share_diverged": runs["diverged_at"] >= 0}).items():
            few = name == "share_in_order" and len(hits) < LEAST_RUNS
            rows[name] = share(int(hits.sum()), len(hits)) if len(hits) else {"n": 0}
            rows[name]["state"] = "undecided" if few else ""
        yield from (keys | {"quantity": quantity} | row for quantity, row in rows.items())
