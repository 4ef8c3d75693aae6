"""The tables of the two stages and of stage 2's optimal attention of Li, Li & Risteski (2023)."""

import math
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from onelayer.evidence.intervals import mean, median, share, worst
from onelayer.evidence.tables import ALL, Report, interval_of, row_per, table, tidy
from onelayer.evidence.verdicts import NOT_REACHED, Comparison, Direction, Number, judge, worded
from onelayer.papers.topic_structure.synthetic.stages import stage_times
from onelayer.papers.topic_structure.synthetic.tables import MATTERS, independent, joined, over_runs
from onelayer.settings.topic_structure_synthetic import TwoStageSettings

# `studied`: `setting`, or `map` for all learning rates and starts of a panel.
# `masked`: `attended`, or `hidden` from attention.
STAGE_KEYS = ["studied", "setting", "loss", "optimizer", "masked", "learning_rate", "noise", "seed"]
RATIO_KEYS = ["documents", "method", "tau"]
MASKS_KEYS = ["kept", "tau"]
TIMES = {"t_V": math.inf, "t_KQ": math.inf, "value_share_at_t_KQ": 1.0}  # and the most they can be
IN_ORDER, CELLS_IN_ORDER = "share_in_order", "share_of_cells_in_order"
MOST = 0.5  # of a setting's runs: beyond this share two stages are there
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

    Shares are judged where the two stages are claimed, of at least `LEAST_RUNS` runs: whether most
    runs have them. In how many cells of a map they are is counted and not judged: its cells were
    chosen, and are no draws of anything. Of the setting that comes nearest to the paper's steps,
    which names neither loss nor rate, the medians are compared with these, `published`. Rows of
    `norms.two_stages` and the settings that they are of.
    """
    rows = []
    settings = {("setting", one.name): one for one in block.settings}
    settings |= {("map", one.name): one for one in block.maps}
    for (kind, name), history in norms.groupby(["kind", "name"], sort=False):
        one, runs = settings[kind, name], stage_times(history)
        keys = {"studied": kind, "setting": name, "loss": one.loss, "optimizer": one.optimizer}
        keys["masked"] = "attended" if one.masked_attended else "hidden"
        if kind == "map":
            # In how many cells of a panel most runs have the stages in order.
            hits = runs.groupby(["learning_rate", "noise"])["in_order"].mean() > 0.5
            note = "pairs of learning rate and noise"
            cells = {"quantity": CELLS_IN_ORDER, "value": hits.mean(), "n": len(hits)}
            rows.append(keys | cells | {"seed": ALL, "note": note})
            continue
        keys |= {"learning_rate": one.learning_rate, "noise": one.noise}
        for run in runs.itertuples():
            for quantity in TIMES:
                value = getattr(run, quantity)
                row = {"seed": str(run.seed), "n": 1, "note": run.note, "quantity": quantity}
                verdict = NOT_REACHED if np.isnan(value) else ""
                rows.append(keys | row | {"value": value, "verdict": verdict})
        rows += [keys | {"seed": ALL} | row for row in (*_times(runs), *_shares(runs))]
    table = tidy(rows, STAGE_KEYS)
    if published is not None:
        pictured = [one.name for one in block.settings if one.pictured]
        shown = table["setting"].isin(pictured) & table["quantity"].isin(published.index)
        for column in ("published", "tolerance"):
            table[column] = table["quantity"].map(published[column]).where(shown)

    def compared(row: tuple) -> Comparison | None:
        if row.quantity in MEDIANS:
            return Number(None, kind="analogue")
        one = settings[row.studied, row.setting]
        if row.quantity != IN_ORDER or not one.two_stages_expected or row.n < LEAST_RUNS:
            return None
        # Masked words are attended to in the paper's model and hidden in the authors'.
        of_one_source = one.masked_attended == (one.embedding != "layer_norm")
        return Direction(MOST, 1, kind="claim" if of_one_source else "analogue")

    return judge(table, [compared(row) for row in table.itertuples()])


def _times(runs: pd.DataFrame) -> Iterator[dict]:
    """Means, medians and quartiles of a setting's times, of the runs that reached them."""
    diverged = runs["diverged_at"] >= 0
    for quantity, most in TIMES.items():
        lost = diverged | runs[quantity].isna()
        reached = runs[quantity][~lost]
        summary = over_runs(runs[quantity], lost, 0.0, most)
        if (never := (lost & ~diverged).sum()) > 0:
            note = f"{diverged.sum()} diverged" if diverged.any() else ""
            summary["note"] = joined(f"not reached in {never} of {len(runs)} runs", note)
        yield {"quantity": quantity} | summary
        if f"{quantity}_median" in MEDIANS:
            # The median and the quartiles describe runs of two kinds.
            shared = {"note": summary["note"]}
            shared |= {"verdict": NOT_REACHED} if summary["verdict"] == NOT_REACHED else {}
            estimate = independent(median(reached.to_numpy(float)))
            yield {"quantity": f"{quantity}_median"} | estimate | shared
            for which, share_below in ((1, 0.25), (3, 0.75)):
                cut = reached.astype(float).quantile(share_below)
                row = {"quantity": f"{quantity}_quartile_{which}", "value": cut}
                yield row | {"n": len(reached)} | shared


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


def _share(hits: pd.Series) -> dict:
    if not len(hits):
        return {"value": math.nan, "n": 0}
    return independent(share(int(hits.sum()), len(hits)))


def readable_stages(table: pd.DataFrame) -> pd.DataFrame:
    """A row per setting; the runs one by one are in the CSV."""
    return _readable_setting(table[(table["seed"] == ALL) & (table["studied"] == "setting")])


@row_per("setting")
def _readable_setting(by: pd.DataFrame, setting: str) -> dict:
    row = {"setting": setting}
    for quantity in ("t_V", "t_KQ"):
        row[f"{quantity} (steps)"] = interval_of(by.loc[quantity], 0)
        first, third = (by["value"][f"{quantity}_quartile_{which}"] for which in (1, 3))
        middle = interval_of(by.loc[f"{quantity}_median"], 0)
        row[f"{quantity}: median"] = f"{middle}; quartiles {first:.0f} and {third:.0f}"
    medians = [by.loc[name] for name in MEDIANS if not math.isnan(by["published"][name])]
    row["medians beside the paper's step"] = ", ".join(map(worded, medians)) or "–"
    row["W_V's share of its maximum at t_KQ"] = interval_of(by.loc["value_share_at_t_KQ"])
    for quantity, label in (
        (IN_ORDER, "t_V <= t_KQ"),
        ("share_nearly_in_order", "the same with 80%"),
        ("share_diverged", "diverged"),
    ):
        row[label] = _counted(by.loc[quantity])
    return row | {"two stages": worded(by.loc[IN_ORDER]), "note": by["note"]["t_KQ"]}


def _counted(row: Mapping) -> str:
    """A share for readers: `65 of 96: 0.68 [0.57, 0.77]`."""
    if not row["n"]:
        return "–"
    return f"{row['value'] * row['n']:.0f} of {row['n']:.0f}: {interval_of(row)}"


def stage_notes(table: pd.DataFrame) -> list[str]:
    """What readers must know, the panels of the map with it."""
    panels = [
        f"{row['setting']}: {row['value'] * row['n']:.0f} of {row['n']:.0f} pairs of learning rate "
        "and noise"
        for row in table[table["quantity"] == CELLS_IN_ORDER].to_dict("records")
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
        "Masked words are hidden from attention in the authors' code, and are among the words "
        "attended to in the paper's model (`masked` in the CSV). With one-hot words the order of "
        "the stages hangs on it.",
        "The stages need many documents: with a fifth of them, under mean squared loss, W_V learns "
        "them by heart and goes on growing, so that t_V comes after t_KQ.",
        "Times: mean [95%] of the runs that reach them, and the median, whose interval supposes "
        "no distribution: late and early runs are two kinds, and a mean of both describes "
        "neither. The paper names neither loss nor rate: in the setting of ours that comes nearest "
        "the medians stand beside the step at which it sees one stage end and the other begin, "
        "which says little; steps of other rates and losses are others.",
        "Shares: of the runs that did not diverge, with Clopper and Pearson's 95% interval; those "
        "that diverged are counted apart. 'two stages': whether most runs have them, where they "
        f"are claimed and at least {LEAST_RUNS} runs went through. The CSV has every run.",
        *(f"The map of learning rates and starts, {one}." for one in panels),
    ]


@table(
    "topic_structure/two_stage",
    "Synthetic: tables",
    "table: two stages",
    reads={"norms": "train_two_stages.norms", "published": "reference/topic_structure_stages.csv"},
    settings={"stages": "topic_structure.synthetic.two_stages"},
)
def two_stage(norms: pd.DataFrame, published: Path, stages: TwoStageSettings) -> Report:
    """When W_V is done and when W_K begins to grow, run by run."""
    tidied = tidy_stages(norms, stages, read_stage_steps(published))
    title = "Topic structure, synthetic: the two stages of training"
    return Report(tidied, readable_stages(tidied), title, stage_notes(tidied))


def readable_ratios(table: pd.DataFrame) -> pd.DataFrame:
    """A row per tau: optimum and trained side by side."""
    ratios = table[table["quantity"] == "ratio"].set_index(RATIO_KEYS)
    taus = sorted(set(ratios.index.get_level_values("tau")), key=int)
    series = {
        "optimum": ("short", "optimum"),
        "trained W_K, W_Q": ("short", "trained"),
        "optimum, long documents": ("long", "optimum"),
    }
    cells = {
        f"{label} [95%]": [interval_of(ratios.loc[(*key, tau)]) for tau in taus]
        for label, key in series.items()
    }
    return pd.DataFrame({"tau": taus} | cells)


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
    """The ratio against tau: of optimal tied attention, and what training W_K and W_Q reaches."""
    rows = []
    for key, group in ratios.groupby(RATIO_KEYS, sort=False):
        keys = dict(zip(RATIO_KEYS, map(str, key), strict=True))
        for quantity in ("ratio", "alpha", "beta"):
            summary = over_runs(group[quantity], group["diverged_at"] >= 0, 0.0)
            rows.append(keys | {"quantity": quantity} | summary)
    optimum = ratios[ratios["method"] == "optimum"]
    for documents, group in optimum.groupby("documents", sort=False):
        growth = group.pivot(index="seed", columns="tau", values="ratio").diff(axis=1).iloc[:, 1:]
        place, estimate = worst([mean(growth[tau]) for tau in growth], 1)
        note = f"of the ratio from one tau to the next; least at tau = {growth.columns[place]}"
        keys = {"documents": documents, "method": "optimum", "tau": ALL}
        least = {"quantity": "least_growth", "note": note} | independent(estimate)
        rows.append(keys | least)
    return judge(tidy(rows, RATIO_KEYS), {"least_growth": Direction(0.0, 1)})


@row_per("tau")
def readable_over_masks(by: pd.DataFrame, tau: int) -> dict:
    """A row per tau: the ratio at each share of kept words."""
    ratio = by.loc[["ratio"]]
    cells = {
        f"{kept:.0%} kept [95%]": f"{interval_of(row)} ({worded(row)})"
        for kept, (_, row) in zip(ratio["kept"].astype(float), ratio.iterrows(), strict=True)
    }
    return {"tau": f"{tau:.0f}"} | cells


@table(
    "topic_structure/over_masks",
    "Synthetic: tables",
    "table: ratio against masks",
    title="Topic structure, synthetic: optimal attention of stage 2 against masks",
    notes=[
        "Ratio: as in `table_stage_two_ratio`. Of the words to predict most show the mask, and as "
        "many as there show a word: their own (kept, the paper's p_c) or a random one (p_r). "
        "Columns are shares of the former among both; the usual one is a half. A word that shows "
        "the mask has no topic to attend by.",
        "Where no word is kept, what a word shows tells nothing of what is to be predicted there: "
        "in long documents the optimum is then uniform attention, whatever tau is.",
        "Verdicts: whether the ratio lies above 1, the optimum of documents of one topic; the "
        "theorem names no values.",
    ],
    readable=readable_over_masks,
    reads={"ratios": "optimise_attention_over_masks.ratios"},
    made="kept_shares",
)
def over_masks(ratios: pd.DataFrame) -> pd.DataFrame:
    """The optimal ratio against the share of shown words that are left as they are, and tau."""
    rows = []
    for key, group in ratios.groupby(MASKS_KEYS, sort=False):
        keys = dict(zip(MASKS_KEYS, key, strict=True))
        for quantity in ("ratio", "alpha", "beta"):
            rows.append(keys | {"quantity": quantity} | independent(mean(group[quantity])))
    return judge(tidy(rows, MASKS_KEYS), {"ratio": Direction(1.0, 1, MATTERS)})
