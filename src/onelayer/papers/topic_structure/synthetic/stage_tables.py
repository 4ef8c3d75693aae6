"""The tables of the two stages and of stage 2's optimal attention of Li, Li & Risteski (2023)."""

import math
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import bdtr

from onelayer.evidence.intervals import mean, share
from onelayer.evidence.tables import ALL, Report, interval, table, tidy
from onelayer.evidence.verdicts import NOT_REACHED, Comparison, Direction, Number, judge, worded
from onelayer.papers.topic_structure.synthetic.stages import stage_times
from onelayer.papers.topic_structure.synthetic.tables import independent, joined, over_runs
from onelayer.settings.topic_structure_synthetic import TwoStageSettings

# `studied`: `setting`, or `map` for all learning rates and starts of a panel.
STAGE_KEYS = ["studied", "setting", "loss", "optimizer", "learning_rate", "noise", "seed"]
RATIO_KEYS = ["documents", "method", "tau"]
TIMES = {"t_V": math.inf, "t_KQ": math.inf, "value_share_at_t_KQ": 1.0}  # and the most they can be
IN_ORDER, CELLS_IN_ORDER = "share_in_order", "share_of_cells_in_order"
MEDIANS = ("t_V_median", "t_KQ_median")
# Fewer runs cannot tell a share from a half, even if they all agree.
LEAST_RUNS = 6


def read_stage_steps(path: Path) -> pd.DataFrame:
    """Between which steps the paper sees its stages: `published` and `tolerance` by quantity."""
    return pd.read_csv(path).set_index("quantity")[["published", "tolerance"]]


def tidy_stages(
    norms: pd.DataFrame, block: TwoStageSettings, published: pd.DataFrame | None = None
) -> pd.DataFrame:
    """t_V and t_KQ of every run, and how many runs of each setting have t_V <= t_KQ.

    Args:
        norms: rows of `norms.two_stages`.
        block: the settings that they are of.
        published: `read_stage_steps`, for the setting that is the paper's own; None for none.
    """
    rows = []
    times = stage_times(norms[norms["kind"] == "setting"])
    known_as = _facts(block)
    for name, runs in times.groupby("name", sort=False):
        known = known_as["setting", name]
        for run in runs.itertuples():
            one = known | {"seed": str(run.seed), "n": 1, "note": run.note}
            for quantity in TIMES:
                value = getattr(run, quantity)
                verdict = NOT_REACHED if np.isnan(value) else ""
                rows.append(one | {"quantity": quantity, "value": value, "verdict": verdict})
        known |= {"seed": ALL}
        rows += [known | row for row in _times(runs)]
        rows += [known | row for row in _shares(runs)]
    for name, panel in norms[norms["kind"] == "map"].groupby("name", sort=False):
        rows.append(known_as["map", name] | {"seed": ALL} | _cells(stage_times(panel)))
    return judged_stages(tidy(rows, STAGE_KEYS), block, published)


def _facts(block: TwoStageSettings) -> dict[tuple[str, str], dict]:
    """The keys of each setting and of each panel of the map."""
    found = {}
    for studied, several in (("setting", block.settings), ("map", block.maps)):
        for one in several:
            own = {"studied": studied, "setting": one.name}
            own |= {"loss": one.loss, "optimizer": one.optimizer}
            rates = {name: getattr(one, name, math.nan) for name in ("learning_rate", "noise")}
            found[studied, one.name] = own | rates
    return found


def judged_stages(
    table: pd.DataFrame, block: TwoStageSettings, published: pd.DataFrame | None = None
) -> pd.DataFrame:
    """The table with its verdicts.

    Shares are judged where the two stages are claimed, of at least `LEAST_RUNS` runs. Of the
    paper's own setting the medians are compared with the steps between which it sees the stages.

    Args:
        table: tidy, with all but what `onelayer.evidence.verdicts.judge` fills.
        block, published: as of `tidy_stages`.
    """
    claimed = {one.name for one in (*block.settings, *block.maps) if one.two_stages_expected}
    own = {one.name for one in block.settings if one.pictured}
    if published is not None:
        shown = table["setting"].isin(own) & table["quantity"].isin(published.index)
        steps = published.reindex(table["quantity"]).set_index(table.index)
        for column in ("published", "tolerance"):
            table[column] = table[column].where(~shown, steps[column])
    compared: list[Comparison | None] = [
        Number(None)
        if row.quantity in MEDIANS
        else Direction(0.5, 1)
        if row.quantity in (IN_ORDER, CELLS_IN_ORDER)
        and row.setting in claimed
        and row.n >= LEAST_RUNS
        else None
        for row in table.itertuples()
    ]
    return judge(table.assign(kind=""), compared)


def _times(runs: pd.DataFrame) -> list[dict]:
    """Means, medians and quartiles of a setting's times, of the runs that came to them."""
    rows = []
    diverged = runs["diverged_at"] >= 0
    for quantity, most in TIMES.items():
        lost = diverged | runs[quantity].isna()
        summary = over_runs(runs[quantity], diverged, 0.0, most)
        if (lost & ~diverged).any():
            summary = over_runs(runs[quantity][~lost], (), 0.0, most)
            never = f"not reached in {(lost & ~diverged).sum()} of {len(runs)} runs"
            summary["note"] = joined(never, f"{diverged.sum()} diverged" if diverged.any() else "")
            summary["verdict"] = NOT_REACHED if lost.all() else ""
        rows.append({"quantity": quantity} | summary)
        if f"{quantity}_median" in MEDIANS:
            told = {"note": summary["note"], "verdict": summary["verdict"]}
            rows += [row | told for row in quartiles(quantity, runs[quantity][~lost])]
    return rows


def quartiles(quantity: str, values: Iterable[float]) -> list[dict]:
    """Median with its interval, and the quartiles: what describes runs of two kinds.

    Args:
        quantity: of which.
        values: one per run that came to it.
    """
    values = np.asarray(list(values), dtype=float)
    cuts = np.quantile(values, (0.25, 0.75)) if len(values) else (math.nan, math.nan)
    return [
        {"quantity": f"{quantity}_median"} | median(values),
        *(
            {"quantity": f"{quantity}_quartile_{which}", "value": float(cut), "n": len(values)}
            for which, cut in zip((1, 3), cuts, strict=True)
        ),
    ]


def median(values: np.ndarray) -> dict[str, float]:
    """The median of independent runs with its 95% interval, which no distribution is assumed for.

    The interval reaches from the k-th smallest to the k-th largest value, with the largest k for
    which fewer than k of n runs fall below the median with a chance of at most 2.5%: five runs and
    fewer have none.

    Returns:
        `value`, `low`, `high`, `n`, `runs`.
    """
    n = len(values)
    if n == 0:
        return {"value": math.nan, "low": math.nan, "high": math.nan, "n": 0}
    k = int((bdtr(np.arange(n // 2), n, 0.5) <= 0.025).sum())
    ordered = np.sort(values)
    low, high = (ordered[k - 1], ordered[n - k]) if k else (math.nan, math.nan)
    found = {"value": float(np.median(values)), "low": float(low), "high": float(high), "n": n}
    return independent(found)


def _shares(runs: pd.DataFrame) -> list[dict]:
    """Which of a setting's runs have the stages in order; diverged ones counted apart."""
    diverged = runs["diverged_at"] >= 0
    through = runs[~diverged]
    counted = (
        (IN_ORDER, through["in_order"], ""),
        ("share_nearly_in_order", through["nearly_in_order"], "with 80% of W_V's maximum"),
        ("share_diverged", diverged, ""),
    )
    return [{"quantity": name, "note": note} | _share(hits) for name, hits, note in counted]


def _cells(runs: pd.DataFrame) -> dict:
    """In how many cells of a panel most runs have the stages in order."""
    hits = runs.groupby(["learning_rate", "noise"])["in_order"].mean() > 0.5
    return {"quantity": CELLS_IN_ORDER, "note": "pairs of learning rate and noise"} | _share(hits)


def _share(hits: pd.Series) -> dict:
    if not len(hits):
        return {"value": math.nan, "n": 0}
    return independent(share(int(hits.sum()), len(hits)))


def readable_stages(table: pd.DataFrame) -> pd.DataFrame:
    """A row per setting; the runs one by one are in the CSV."""
    shown = []
    whole = table[(table["seed"] == ALL) & (table["studied"] == "setting")]
    for setting, group in whole.groupby("setting", sort=False):
        by = group.set_index("quantity")
        row = {"setting": setting}
        for quantity in ("t_V", "t_KQ"):
            row[f"{quantity} (steps)"] = _with_interval(by.loc[quantity], 0)
            first, third = (by["value"][f"{quantity}_quartile_{which}"] for which in (1, 3))
            middle = _with_interval(by.loc[f"{quantity}_median"], 0)
            row[f"{quantity}: median"] = f"{middle}; quartiles {first:.0f} and {third:.0f}"
        beside = [by.loc[name] for name in MEDIANS if not math.isnan(by["published"][name])]
        row["medians beside the paper's step"] = ", ".join(map(worded, beside)) or "–"
        row["W_V's share of its maximum at t_KQ"] = _with_interval(by.loc["value_share_at_t_KQ"])
        for quantity, label in (
            ("share_in_order", "t_V <= t_KQ"),
            ("share_nearly_in_order", "the same with 80%"),
            ("share_diverged", "diverged"),
        ):
            row[label] = _counted(by.loc[quantity])
        row["two stages"] = worded(by.loc[IN_ORDER])
        row["note"] = by["note"]["t_KQ"]
        shown.append(row)
    return pd.DataFrame(shown)


def _counted(row: pd.Series) -> str:
    """A share for readers: `65 of 96: 0.68 [0.57, 0.77]`."""
    if not row["n"]:
        return "–"
    return f"{row['value'] * row['n']:.0f} of {row['n']:.0f}: {_with_interval(row)}"


def _with_interval(row: pd.Series, digits: int = 2) -> str:
    return interval(row["value"], row["low"], row["high"], digits)


def stage_notes(table: pd.DataFrame) -> list[str]:
    """What readers must know, the panels of the map with it."""
    panels = [
        f"{row.setting}: {_counted(pd.Series(row._asdict()))} pairs of learning rate and noise, "
        f"{worded(row._asdict())}"
        for row in table[table["quantity"] == CELLS_IN_ORDER].itertuples()
    ]
    return [
        "t_V: first step at which the Frobenius norm of W_V is at least 90% of its maximum over "
        "the run; t_KQ: first step at which that of W_K is at least 110% of its initial value. "
        "The paper's claim of two stages: t_V <= t_KQ.",
        "Under cross-entropy with SGD, W_V can grow by another tenth after W_K has: the maximum "
        "then lies at the end of the run and t_V is late although W_V had all but stopped. Its "
        "share of the maximum at t_KQ shows which case it is, and with 80% of the maximum in "
        "place of 90% such runs are in order. Where the end of a run hangs on rounding, which "
        "seeds are late, and which diverge, differs from machine to machine; their shares are "
        "what can be compared.",
        "With Adam the stages hang on its epsilon (1e-8): gradients of W_K start below it. The "
        "same run with the loss summed over the vocabulary instead of averaged has none.",
        "The stages need many documents: with a fifth of them, under mean squared loss, W_V learns "
        "them by heart and goes on growing, so that t_V comes after t_KQ.",
        "Times: mean [95%] of the runs that reach them, and the median, whose interval supposes "
        "no distribution: late and early runs are two kinds, and a mean of both describes "
        "neither. In the paper's own setting the medians are compared with the step at which it "
        "sees one stage end and the other begin; steps of other rates and losses are others.",
        "Shares: of the runs that did not diverge, with Clopper and Pearson's 95% interval; those "
        "that diverged are counted apart. 'two stages': whether most runs have them, where they "
        f"are claimed and at least {LEAST_RUNS} runs went through. The CSV has every run.",
        *(f"The map of learning rates and starts, {one}." for one in panels),
    ]


@table(
    "topic_structure/two_stage",
    "Synthetic: tables",
    "table: two stages",
    reads={
        "norms": "train_two_stages.norms",
        "published": "reference/topic_structure_stages.csv",
    },
    settings={"stages": "topic_structure.synthetic.two_stages"},
)
def two_stage(norms: pd.DataFrame, published: Path, stages: TwoStageSettings) -> Report:
    """When W_V is done and when W_K begins to grow, run by run.

    Args:
        norms: rows of `norms.two_stages`.
        published: see `read_stage_steps`.
        stages: the settings that they are of.
    """
    found = tidy_stages(norms, stages, read_stage_steps(published))
    title = "Topic structure, synthetic: the two stages of training"
    return Report(found, readable_stages(found), title, stage_notes(found))


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


@table(
    "topic_structure/stage_two_ratio",
    "Synthetic: tables",
    "table: ratio against tau",
    title="Topic structure, synthetic: optimal attention of stage 2 against topics in a document",
    notes=[
        "Ratio: (v-1)/v alpha + beta/v, with alpha (same topic, another word) and beta (same "
        "word) relative to the weight of different topics, at the least squared loss with W_V "
        "frozen at stage 1's optimum for the same documents. The theorem says that it lies "
        "between lambda_1 tau and lambda_2 T for some constants; it names no values, so that no "
        "band can be missed.",
        "Trained: W_K and W_Q of a one-hot model under squared loss with Adam; the ratio of "
        "average attention weights on masked documents. It is not tied, so it need not reach the "
        "optimum.",
        "At the optimum beta is often at its lower bound, exp(-6): no weight on the same word.",
        "The claim is that the ratio grows with tau, from every tau to the next: least_growth in "
        "the CSV is the least of the mean differences, and its interval decides.",
        "With tau = 1 all words of a document have one topic but for random ones: nothing to gain.",
    ],
    readable=readable_ratios,
    reads={"ratios": "optimise_topic_attention.ratios"},
)
def stage_two_ratio(ratios: pd.DataFrame) -> pd.DataFrame:
    """The ratio against tau: the optimum of tied attention, and what training W_K and W_Q reaches.

    Args:
        ratios: rows of `stage_two.ratio_over_tau`.
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
        found = independent(mean(growth[tau]))
        note = f"of the ratio from one tau to the next; least at tau = {tau}"
        rows.append(known | {"quantity": "least_growth"} | found | {"note": note})
    return judge(tidy(rows, RATIO_KEYS), {"least_growth": Direction(0.0, 1)})
