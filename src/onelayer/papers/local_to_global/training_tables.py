"""The tables of the trained transformers: initialisations, rank one, and the ablation.

`published` is a number of the authors where there is one (their saved weights), and otherwise the
entropy at which the paper says that training ends. A run whose loss ends no lower than it starts,
or above the unigram entropy, did not train or not for long enough: nothing is judged by it.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from onelayer.intervals import mean, share
from onelayer.papers.local_to_global.chain import Chain
from onelayer.settings.local_to_global import TrainingSettings, Variant
from onelayer.tables import Report, interval, number, tidy
from onelayer.verdicts import FLOAT32, NOT_REACHED, Number, judge, rounding, worded

CLOSE = 0.01  # nats: a loss this close to an entropy counts as having reached it
TRAPPED = (100, 450)  # iterations over which a standard start must stay at the unigram entropy
RANK_ONE_NOTES = [
    "sigma_1^2 / sum of sigma_i^2; 1 means rank one. Ours: mean over seeds with its interval. "
    "Authors: one run, from the weights they saved.",
    "A random 8 x 8 matrix has a share of about .37 (as the W_Q, W_K, W_V and W_O of iteration 1), "
    "one of 32 x 8 of about .25. The paper says that all matrices become rank one (figure 3); of "
    "W_Q and W_K the authors' own weights at iteration 200 do not.",
]
UNTRAINED = "the loss does not come down to the unigram entropy: no or too little training"
HELD_OUT = (
    "Intervals are over seeds, which all share the held-out sequences: few of those move a loss by "
    "more than seeds do, though never below the bigram entropy."
)
CLAIMED = {"standard": "unigram", "rank_one": "unigram", "paper": "bigram"}


def read_published(path: Path) -> pd.DataFrame:
    """The authors' numbers: `initialisation`, `matrix`, `iteration`, `published`, `tolerance`."""
    table = pd.read_csv(path, dtype={"published": str})
    printed = table["published"]
    return table.assign(published=printed.astype(float), tolerance=printed.map(rounding))


def excess_loss(training: TrainingSettings) -> float:
    """A loss this near to the optimum is as good as it for one batch, per logit (nats): 1 / (2 N).

    A logit that is estimated from N symbols, those of a batch, has the variance 1 / (N p (1 - p)),
    and costs half of that times p (1 - p) more than the best one, in expectation.
    """
    return 1 / (2 * training.batch * training.sequence_length)


def initialisation_table(
    curves: pd.DataFrame, chain: Chain, tolerance: float = 0.0
) -> pd.DataFrame:
    """Per initialisation and seed: final loss, when it reached the bigram entropy, and the mean.

    Args:
        curves: `training.curves` of all initialisations.
        chain: the chain trained on.
        tolerance: `excess_loss`; the unigram model has one logit, the bigram model two.
    """
    entropies = {"unigram": chain.unigram_entropy, "bigram": chain.bigram_entropy}
    logits = {"unigram": 1, "bigram": 2}
    middle = (chain.unigram_entropy + chain.bigram_entropy) / 2
    rows = []
    for name, part in curves.groupby("variant", sort=False):
        model = CLAIMED[name]
        claim = {"published": entropies[model], "tolerance": logits[model] * tolerance}
        claim["note"] = f"beside it: the {CLAIMED[name]} entropy, where the paper says it ends"
        finals = []
        for seed, run in part.groupby("seed", sort=False):
            key = {"initialisation": name, "seed": str(seed)}
            final = float(run["loss"].iloc[-1])
            finals.append(final)
            own = {"quantity": "final_loss", "value": final, "n": 1}
            rows.append(key | own | claim | _standing(run, chain))
            rows += [key | row for row in _reached(run, chain)]
        key = {"initialisation": name, "seed": "mean"}
        rows.append(
            key | {"quantity": "final_loss"} | mean(finals) | claim | _standing(part, chain)
        )
        left = mean(np.array(finals) - claim["published"])
        rows.append(key | {"quantity": "final_loss_above_claimed", "note": _left(left)} | left)
    compared = Number(middle, kind="theory", relative=FLOAT32)
    return judge(tidy(rows, ["initialisation", "seed"]), {"final_loss": compared})


def untrained(run: pd.DataFrame, chain: Chain) -> bool:
    """Whether a run ends where it started, or still above the unigram entropy, or diverged.

    The least that training learns is how frequent the symbols are. A start that has no preference
    has the loss log 2, above both entropies: standing there, it would look trapped.
    """
    start, end = run["loss"].iloc[0], run["loss"].iloc[-1]
    return not (end < start and end <= chain.unigram_entropy + CLOSE)


def _standing(runs: pd.DataFrame, chain: Chain) -> dict[str, str]:
    """What stands in a row that rests on these runs, where any of them did not train."""
    seeds = [untrained(run, chain) for _, run in runs.groupby("seed")]
    if not any(seeds):
        return {}
    count = "" if len(seeds) == 1 else f"{sum(seeds)} of {len(seeds)} seeds: "
    return {"verdict": NOT_REACHED, "note": count + UNTRAINED}


def _left(distance: dict) -> str:
    """What a loss's distance to an entropy, with its interval, says."""
    return "not reached: this much above it" if distance["low"] > 0 else "reached"


def initialisation_notes(training: TrainingSettings, chain: Chain) -> list[str]:
    """Notes under the readable table."""
    return [
        f"{training.sequence_length} inputs per sequence, {training.batch} sequences per "
        f"iteration, {training.iterations} iterations of {training.optimizer}, largest learning "
        f"rate {training.lr:g}, weight decay {training.weight_decay:g}.",
        "Loss: population loss on held-out sequences (nats). Unigram entropy "
        f"{chain.unigram_entropy:.4f}, bigram entropy rate {chain.bigram_entropy:.4f}.",
        HELD_OUT,
        "Verdict: 'direction', the final loss lies on the claimed side of the middle between both "
        "entropies; 'within', the interval reaches the claimed entropy, give or take the excess "
        f"loss of a logit estimated from one batch, {excess_loss(training):.1e} nats, for each "
        "logit of the claimed model; 'not reached', the loss ends no lower than it starts, or "
        "more than .01 above the unigram entropy.",
    ]


def ablation_notes(training: TrainingSettings, chain: Chain) -> list[str]:
    """Notes under the readable table."""
    return [
        f"Trapped: the loss ends within .01 of the unigram entropy {chain.unigram_entropy:.4f}. "
        "Escape: first iteration from which on the loss stays more than .01 below it, the earliest "
        "of the seeds.",
        f"{training.iterations} iterations unless the row says otherwise; a longer training has a "
        "longer schedule, and is not the shorter one gone on with.",
        f"Bigram entropy rate: {chain.bigram_entropy:.4f}; not reached where the interval of the "
        "distance lies above 0.",
        HELD_OUT,
        "The paper claims that the standard start is trapped and its own is not; it says nothing "
        "about the changes.",
    ]


def _reached(run: pd.DataFrame, chain: Chain) -> list[dict]:
    iteration, loss = run["iteration"].to_numpy(), run["loss"].to_numpy()
    reached = iteration[loss <= chain.bigram_entropy + CLOSE]
    later = (iteration >= TRAPPED[0]) & (iteration <= TRAPPED[1])
    away = abs(loss[later] - chain.unigram_entropy).max() if later.any() else np.nan
    when = float(reached[0]) if len(reached) else np.nan
    return [
        {
            "quantity": "iteration_within_0.01_of_bigram",
            "value": when,
            "n": 1,
            "verdict": "" if len(reached) else NOT_REACHED,
            "note": "" if len(reached) else f"not within {iteration[-1]} iterations",
        },
        {
            "quantity": "largest_distance_from_unigram",
            "value": away,
            "n": int(later.sum()),
            "note": "over iterations 100 to 450; accepted for the standard start: .01",
        },
    ]


def readable_initialisations(table: pd.DataFrame) -> pd.DataFrame:
    """A row per initialisation and seed."""
    rows = []
    for (name, seed), part in table.groupby(["initialisation", "seed"], sort=False):
        by = part.set_index("quantity")
        final = by.loc["final_loss"]
        row = {
            "initialisation": name.replace("_", "-"),
            "seed": seed,
            "final loss": interval(final["value"], final["low"], final["high"], 4),
            "entropy claimed": number(final["published"], 4),
            "above it": "",
        }
        if "final_loss_above_claimed" in by.index:
            left = by.loc["final_loss_above_claimed"]
            row["above it"] = interval(left["value"], left["low"], left["high"], 4)
        when = by["value"].get("iteration_within_0.01_of_bigram", np.nan)
        row["within .01 of bigram at iteration"] = "–" if np.isnan(when) else f"{when:.0f}"
        away = by["value"].get("largest_distance_from_unigram", np.nan)
        row["largest distance from unigram, 100–450"] = number(away, 4)
        row["verdict"] = worded(final["verdict"], final["effect_share"])
        rows.append(row)
    return pd.DataFrame(rows)


def rank_one_table(
    curves: pd.DataFrame, snapshots: Sequence[int], published: pd.DataFrame, chain: Chain
) -> pd.DataFrame:
    """Share of every matrix' largest singular value at the snapshots, mean over seeds.

    Args:
        curves: `training.curves` of all initialisations.
        snapshots: iterations.
        published: `read_published`.
        chain: the chain trained on.
    """
    theirs = published.set_index(["initialisation", "matrix", "iteration"])
    standing = {name: _standing(part, chain) for name, part in curves.groupby("variant")}
    matrices = [name.removesuffix("_share") for name in curves if name.endswith("_share")]
    rows = []
    for (name, iteration), part in curves.groupby(["variant", "iteration"], sort=False):
        for matrix in matrices if iteration in snapshots else ():
            key = {"initialisation": name, "matrix": matrix, "iteration": iteration}
            row = key | mean(part[f"{matrix}_share"], least=0.0, most=1.0)
            row["quantity"] = "top_share"
            if (place := (name, matrix, iteration)) in theirs.index:
                row |= theirs.loc[place, ["published", "tolerance"]].to_dict()
                row["note"] = "beside it: the authors' saved weights, one run"
                row |= standing[name]
            rows.append(row)
    table = tidy(rows, ["initialisation", "matrix", "iteration"])
    return judge(table, list(map(_beside_half, table["published"])))


def _beside_half(published: float) -> Number:
    """A random matrix of 32 x 8 has a share of about a quarter; half is no longer random.

    A published share near to that (W_Q, W_K) is on neither side: only the number itself counts.
    """
    return Number(None) if abs(published - 0.5) < 0.1 else Number(0.5)


def readable_rank_one(table: pd.DataFrame) -> pd.DataFrame:
    """A row per initialisation, matrix and iteration."""
    return pd.DataFrame(
        {
            "initialisation": table["initialisation"].str.replace("_", "-"),
            "matrix": table["matrix"],
            "iteration": table["iteration"].astype(str),
            "share of the largest singular value [95%]": [
                interval(row.value, row.low, row.high, 3) for row in table.itertuples()
            ],
            "authors": [number(value, 3) for value in table["published"]],
            "verdict": list(map(worded, table["verdict"], table["effect_share"])),
        }
    )


def ablation_table(
    curves: pd.DataFrame, variants: Sequence[Variant], base: TrainingSettings, chain: Chain
) -> pd.DataFrame:
    """Which changes of the training keep a start at the unigram model, and which let it go.

    Args:
        curves: `training.curves` of all variants.
        variants: in the order of rows.
        base: the training without changes.
        chain: the chain trained on.
    """
    rows = []
    for variant in variants:
        part = curves[curves["variant"] == variant.name]
        final = part[part["iteration"] == part["iteration"].max()]
        key = {"variant": variant.name, "initialisation": variant.initialisation}
        # A start that moves away from the unigram model, up or down, is not trapped by it.
        trapped = abs(final["loss"] - chain.unigram_entropy) <= CLOSE
        unchanged = variant.applied(base) == base
        claim = {"standard": 1.0, "rank_one": 1.0, "paper": 0.0}[variant.initialisation]
        found = {"published": claim if unchanged else np.nan, "note": changes(variant, base)}
        if unchanged and (standing := _standing(part, chain)):
            found["note"] += f"; {standing['note']}"
            found["verdict"] = standing["verdict"]
        rows.append(
            key | {"quantity": "trapped_share"} | share(int(trapped.sum()), len(final)) | found
        )
        left = [_escape(run, chain) for _, run in part.groupby("seed")]
        escape = {"quantity": "first_escape_iteration", "value": np.nan, "n": len(left)}
        if np.isfinite(left).any():
            escape["value"] = np.nanmin(left)
        else:
            escape["verdict"] = NOT_REACHED
            escape["note"] = f"no seed within {part['iteration'].max()} iterations"
        rows.append(key | escape)
        for name, quantity in (("loss", "final_loss"), ("W_1_share", "final_W_1_share")):
            rows.append(key | {"quantity": quantity} | mean(final[name]))
        left = mean(final["loss"] - chain.bigram_entropy)
        rows.append(key | {"quantity": "final_loss_above_bigram", "note": _left(left)} | left)
    # The paper says which start is trapped, in words: 1 and 0 are ours for them.
    claimed = Number(0.5, kind="claim")
    return judge(tidy(rows, ["variant", "initialisation"]), {"trapped_share": claimed})


def changes(variant: Variant, base: TrainingSettings) -> str:
    """What a variant changes, in words."""
    own, old = variant.applied(base).model_dump(), base.model_dump()
    found = [f"{key} {own[key]} instead of {old[key]}" for key in own if own[key] != old[key]]
    return "; ".join(found).replace("_", " ") or "as trained above"


def _escape(run: pd.DataFrame, chain: Chain) -> float:
    """First iteration from which on the loss is more than .01 below the unigram entropy; NaN."""
    below = run["loss"].to_numpy() < chain.unigram_entropy - CLOSE
    first = len(below) - int(np.argmin(below[::-1])) if not below.all() else 0
    return float(run["iteration"].iloc[first]) if first < len(below) else np.nan


def readable_ablation(table: pd.DataFrame) -> pd.DataFrame:
    """A row per variant."""
    rows = []
    for (name, start), part in table.groupby(["variant", "initialisation"], sort=False):
        by = part.set_index("quantity")
        trapped, final = by.loc["trapped_share"], by.loc["final_loss"]
        left = by.loc["final_loss_above_bigram"]
        escape = by.loc["first_escape_iteration", "value"]
        rows.append(
            {
                "variant": name,
                "start": start.replace("_", "-"),
                "trapped at the unigram model": (
                    f"{round(trapped['value'] * trapped['n']):.0f} of {trapped['n']:.0f}"
                ),
                "first escape, iteration": "–" if np.isnan(escape) else f"{escape:.0f}",
                "final loss [95%]": interval(final["value"], final["low"], final["high"], 4),
                "above the bigram entropy": interval(left["value"], left["low"], left["high"], 4),
                "W_1 top share": number(by.loc["final_W_1_share", "value"], 3),
                "what changes": trapped["note"],
                "verdict": worded(trapped["verdict"], trapped["effect_share"]),
            }
        )
    return pd.DataFrame(rows)


def report_initialisation(curves: pd.DataFrame, training: TrainingSettings, chain: Chain) -> Report:
    """What each start learns."""
    table = initialisation_table(curves, chain, excess_loss(training))
    title = f"What each start learns, p = {chain.p:g}, q = {chain.q:g}"
    notes = initialisation_notes(training, chain)
    return Report(table, readable_initialisations(table), title, notes)


def report_rank_one(
    curves: pd.DataFrame, snapshots: Sequence[int], published: pd.DataFrame, chain: Chain
) -> Report:
    """How close weights come to rank one."""
    table = rank_one_table(curves, snapshots, published, chain)
    title = "Share of the largest singular value over training"
    return Report(table, readable_rank_one(table), title, RANK_ONE_NOTES)


def report_ablation(
    curves: pd.DataFrame, variants: Sequence[Variant], training: TrainingSettings, chain: Chain
) -> Report:
    """What keeps a start at the unigram model."""
    table = ablation_table(curves, variants, training, chain)
    title = "What keeps a start at the unigram model, one change at a time"
    return Report(table, readable_ablation(table), title, ablation_notes(training, chain))
