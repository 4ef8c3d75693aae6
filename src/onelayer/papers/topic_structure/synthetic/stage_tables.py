"""The tables of the two stages and of stage 2's optimal attention of Li, Li & Risteski (2023)."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from onelayer.intervals import mean, share
from onelayer.papers.topic_structure.synthetic.stages import stage_times
from onelayer.papers.topic_structure.synthetic.tables import joined, over_runs
from onelayer.tables import ALL, interval, tidy
from onelayer.verdicts import NOT_REACHED, Direction, Number, judge

STAGE_KEYS = ["setting", "seed"]
RATIO_KEYS = ["documents", "method", "tau"]


def two_stage(norms: pd.DataFrame, without_stages: Sequence[str] = ()) -> pd.DataFrame:
    """t_V and t_KQ of every run, and how many runs of each setting have t_V <= t_KQ.

    Args:
        norms: rows of `norms.two_stages`.
        without_stages: settings for which none are claimed.
    """
    times = stage_times(norms[norms["kind"] == "setting"])
    rows = []
    for name, runs in times.groupby("name", sort=False):
        for run in runs.itertuples():
            known = {"setting": name, "seed": str(run.seed), "n": 1, "note": run.note}
            for quantity in ("t_V", "t_KQ", "value_share_at_t_KQ"):
                value = getattr(run, quantity)
                verdict = NOT_REACHED if np.isnan(value) else ""
                rows.append(known | {"quantity": quantity, "value": value, "verdict": verdict})
        known = {"setting": name, "seed": ALL}
        diverged = runs["diverged_at"] >= 0
        for quantity in ("t_V", "t_KQ", "value_share_at_t_KQ"):
            lost = diverged | runs[quantity].isna()
            summary = over_runs(runs[quantity], diverged)
            if (lost & ~diverged).any():
                summary = over_runs(runs[quantity][~lost])
                never = f"not reached in {(lost & ~diverged).sum()} of {len(runs)} runs"
                summary["note"] = joined(never, f"{diverged.sum()} diverged" * diverged.any())
                summary["verdict"] = NOT_REACHED if lost.all() else ""
            rows.append(known | {"quantity": quantity} | summary)
        rows += [known | row for row in _shares(runs, name in without_stages)]
    return judge(tidy(rows, STAGE_KEYS), Number())


def _shares(runs: pd.DataFrame, unexpected: bool) -> list[dict]:
    """Which of a setting's runs have the stages in order; diverged ones counted apart."""
    diverged = runs["diverged_at"] >= 0
    through = runs[~diverged]
    counted = (
        ("share_in_order", through["in_order"], "no two stages expected" * unexpected),
        ("share_nearly_in_order", through["nearly_in_order"], "with 80% of W_V's maximum"),
        ("share_diverged", diverged, ""),
    )
    rows = []
    for quantity, hits, note in counted:
        found = share(int(hits.sum()), len(hits)) if len(hits) else {"value": np.nan, "n": 0}
        told = joined(f"{hits.sum()} of {len(hits)} runs", note)
        rows.append({"quantity": quantity, "note": told} | found)
    return rows


def readable_stages(table: pd.DataFrame) -> pd.DataFrame:
    """A row per setting; the runs one by one are in the CSV."""
    shown = []
    for setting, group in table[table["seed"] == ALL].groupby("setting", sort=False):
        by = group.set_index("quantity")
        row = {"setting": setting}
        for quantity, label in (("t_V", "t_V (steps)"), ("t_KQ", "t_KQ (steps)")):
            row[label] = _with_interval(by.loc[quantity], 0)
        row["W_V's share of its maximum at t_KQ"] = _with_interval(by.loc["value_share_at_t_KQ"])
        for quantity, label in (
            ("share_in_order", "t_V <= t_KQ"),
            ("share_nearly_in_order", "the same with 80%"),
            ("share_diverged", "diverged"),
        ):
            own = by.loc[quantity]
            counted = own["note"].split(" runs")[0]
            row[label] = f"{counted}: {_with_interval(own)}"
        row["note"] = joined(by["note"]["t_KQ"], by["note"]["share_in_order"].partition("; ")[2])
        shown.append(row)
    return pd.DataFrame(shown)


def _with_interval(row: pd.Series, digits: int = 2) -> str:
    return interval(row["value"], row["low"], row["high"], digits)


STAGE_TITLE = "Topic structure, synthetic: the two stages of training"
STAGE_NOTES = [
    "t_V: first step at which the Frobenius norm of W_V is at least 90% of its maximum over the "
    "run; t_KQ: first step at which that of W_K is at least 110% of its initial value. The paper's "
    "claim of two stages: t_V <= t_KQ.",
    "Under cross-entropy with SGD, W_V can grow by another tenth after W_K has: the maximum then "
    "lies at the end of the run and t_V is late although W_V had all but stopped. Its share of "
    "the maximum at t_KQ shows which case it is, and with 80% of the maximum in place of 90% such "
    "runs are in order. At SGD 2 the end of a run hangs on rounding: which seeds are late, and "
    "which diverge, differs from machine to machine; their shares are what can be compared.",
    "With Adam the stages hang on its epsilon (1e-8): gradients of W_K start below it. The same "
    "run with the loss summed over the vocabulary instead of averaged (a factor of 104) has none.",
    "The stages need many documents: with 2,000 instead of 10,000, under mean squared loss, W_V "
    "learns them by heart and goes on growing, so that t_V comes after t_KQ.",
    "Times: mean [95%] of the runs that reach them. Shares: of the runs that did not diverge, with "
    "Clopper and Pearson's 95% interval; those that diverged are counted apart. The CSV has every "
    "run.",
]


def stage_two_ratio(ratios: pd.DataFrame) -> pd.DataFrame:
    """The ratio against tau: the optimum of tied attention, and what training W_K and W_Q reaches.

    Args:
        ratios: rows of `stage_two.stage_two`.
    """
    rows = []
    for keys, group in ratios.groupby(RATIO_KEYS, sort=False):
        known = dict(zip(RATIO_KEYS, map(str, keys), strict=True))
        for quantity in ("ratio", "alpha", "beta"):
            summary = over_runs(group[quantity], group["diverged_at"] >= 0)
            rows.append(known | {"quantity": quantity} | summary)
    optimum = ratios[ratios["method"] == "optimum"]
    for documents, group in optimum.groupby("documents", sort=False):
        known = {"documents": documents, "method": "optimum", "tau": ALL}
        growth = group.pivot(index="seed", columns="tau", values="ratio").diff(axis=1).iloc[:, 1:]
        tau = growth.mean().idxmin()
        note = f"of the ratio from one tau to the next; least at tau = {tau}"
        rows.append(known | {"quantity": "least_growth"} | mean(growth[tau]) | {"note": note})
    return judge(tidy(rows, RATIO_KEYS), {"least_growth": Direction(0.0, 1)})


def readable_ratios(table: pd.DataFrame) -> pd.DataFrame:
    """A row per tau: optimum and trained side by side."""
    values = table[table["quantity"] == "ratio"].set_index(RATIO_KEYS)
    shown = []
    for tau in sorted({key[2] for key in values.index}, key=int):
        row = {"tau": tau}
        for (documents, method), label in {
            ("short", "optimum"): "optimum",
            ("short", "trained"): "trained W_K, W_Q",
            ("long", "optimum"): "optimum, long documents",
        }.items():
            own = values.loc[(documents, method, tau)]
            row[f"{label} [95%]"] = interval(own["value"], own["low"], own["high"])
        shown.append(row)
    return pd.DataFrame(shown)


RATIO_TITLE = (
    "Topic structure, synthetic: optimal attention of stage 2 against topics in a document"
)
RATIO_NOTES = [
    "Ratio: (v-1)/v alpha + beta/v, with alpha (same topic, another word) and beta (same word) "
    "relative to the weight of different topics, at the least squared loss with W_V frozen at "
    "stage 1's optimum for the same documents. The theorem says that it lies between lambda_1 tau "
    "and lambda_2 T for some constants; it names no values.",
    "Trained: W_K and W_Q of a one-hot model under squared loss with Adam; the ratio of average "
    "attention weights on masked documents. It is not tied, so it need not reach the optimum.",
    "At the optimum beta is often at its lower bound, exp(-6): no weight on the same word.",
    "The claim is that the ratio grows with tau: least_growth in the CSV is the least of the mean "
    "differences from one tau to the next, judged by its interval.",
    "With tau = 1 all words of a document have one topic but for random ones: nothing to gain.",
]
