"""When stages of training begin and end: read off norms, and off the structure that E and S show.

Li, Li & Risteski (2023), 'Observation: two-stage optimization process': W_V grows first while W_K
and W_Q stay near their initial values, then these grow while W_V stays relatively flat.
"""

import numpy as np
import pandas as pd

VALUE_DONE, KEYS_BEGIN = 0.9, 1.1  # shares of W_V's maximum and of W_K's initial value
VALUE_NEARLY_DONE = 0.8  # for runs whose W_V grows again, late in stage 2
ATTENTION_BEGINS = 0.01  # of the logarithm of the attention ratio: below it attention is uniform
SMALLER = 0.1  # by this W_Q is multiplied to see what the gradient of W_K owes it
RUN = ["kind", "name", "learning_rate", "noise", "seed"]


def stage_times(norms: pd.DataFrame) -> pd.DataFrame:
    """Times of every run.

    Args:
        norms: rows `kind`, `name`, `learning_rate`, `noise`, `seed`, `step`, `W_K`, `W_V`,
            `diverged_at`, in the order of steps.

    Returns:
        A row per run: its keys, `t_V` (first step with |W_V| >= 90% of its maximum), `t_KQ` (first
        step with |W_K| >= 110% of its initial value; NaN: never), `value_share_at_t_KQ` (|W_V| then
        over its maximum), `in_order` (0 < t_V <= t_KQ: a W_V that starts large has no
        first stage), `nearly_in_order` (the same with 80% of the maximum), `diverged_at`, `note`.
    """
    return pd.DataFrame(
        dict(zip(RUN, keys, strict=True)) | _times(run)
        for keys, run in norms.groupby(RUN, sort=False)
    )


def _times(run: pd.DataFrame) -> dict:
    step, W_V, W_K = (run[name].to_numpy() for name in ("step", "W_V", "W_K"))
    diverged = int(run["diverged_at"].iloc[0])
    times = {"diverged_at": diverged, "t_V": np.nan, "t_KQ": np.nan, "value_share_at_t_KQ": np.nan}
    times |= {"in_order": False, "nearly_in_order": False}
    if diverged >= 0:
        return times | {"note": f"diverged at step {diverged}"}
    times["t_V"], nearly = (
        float(step[np.argmax(share * W_V.max() <= W_V)])
        for share in (VALUE_DONE, VALUE_NEARLY_DONE)
    )
    grown = KEYS_BEGIN * W_K[0] <= W_K
    if not grown.any():
        return times | {"note": "W_K does not begin to grow within the run"}
    begins = int(np.argmax(grown))
    return times | {
        "t_KQ": float(step[begins]),
        "value_share_at_t_KQ": float(W_V[begins] / W_V.max()),
        "in_order": bool(0 < times["t_V"] <= step[begins]),
        "nearly_in_order": bool(0 < nearly <= step[begins]),
        "note": "" if times["t_V"] <= step[begins] else "t_V > t_KQ",
    }


def half_times(over_steps: pd.DataFrame) -> pd.DataFrame:
    """When E and when attention have half of the topic structure that they end with.

    Args:
        over_steps: rows of `components.all_components`.

    Returns:
        A row per run that did not diverge: `loss`, `optimizer`, `d`, `seed`, `t_E` and `t_A` (the
        first step looked at with half of the last one's, of the gap, and of the logarithm of the
        attention ratio; NaN where the end has none, which of attention is a ratio below 1.01).
    """
    keys, rows = ["loss", "optimizer", "d", "seed"], []
    through = over_steps[over_steps["diverged_at"] < 0].sort_values("step", kind="stable")
    for key, run in through.groupby(keys, sort=False):
        steps, gap = run["step"].to_numpy(), run["gap"].to_numpy()
        times = {
            "t_E": _half(steps, gap - gap[0], 0.0),
            "t_A": _half(steps, np.log(run["attention"].to_numpy()), ATTENTION_BEGINS),
        }
        rows.append(dict(zip(keys, key, strict=True)) | times)
    return pd.DataFrame(rows)


def _half(steps: np.ndarray, values: np.ndarray, least: float) -> float:
    if not values[-1] > least:
        return np.nan
    return float(steps[np.argmax(values >= values[-1] / 2)])
