"""The tables of the trained transformers: initialisations, rank one, and the ablation.

`published` is a number of the authors where there is one (their saved weights), and otherwise the
entropy at which the paper says that training ends; no effect is the other entropy. A run whose loss
ends no lower than it starts, or above the unigram entropy, did not train or not for long enough:
nothing is judged by it.
"""

import functools
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from onelayer.compute.seeds import generator
from onelayer.evidence.intervals import mean, share
from onelayer.evidence.tables import (
    ALL,
    Report,
    interval,
    interval_of,
    number,
    row_per,
    table,
    tidy,
)
from onelayer.evidence.verdicts import NOT_REACHED, Number, judge, rounding, worded, worded_all
from onelayer.papers.local_to_global.chain import Chain
from onelayer.papers.local_to_global.claimed import (
    UNIGRAM,
    claimed_model,
    close,
    compared_loss,
    entropy,
    excess_loss,
    kind_of,
)
from onelayer.papers.local_to_global.flow_tables import with_runs
from onelayer.settings.local_to_global import ChainSettings, TrainingSettings, Variant

# `within`: how near counts as near (nats), in the rows that count by it.
START_KEYS = ["initialisation", "claimed", "seed", "within"]
RANK_KEYS = ["initialisation", "matrix", "iteration"]
ABLATION_KEYS = ["variant", "initialisation", "claimed", "iterations", "within"]
LATER = (100, 450)  # iterations over which the distance from the unigram entropy is looked at
UNTRAINED = "the loss does not come down to the unigram entropy: no or too little training"
HELD_OUT = (
    "Intervals are over seeds, which all share the held-out sequences: few of those move a loss by "
    "more than seeds do, though never below the bigram entropy."
)


def read_published(path: Path) -> pd.DataFrame:
    """The authors' numbers: `initialisation`, `matrix`, `iteration`, `published`, `tolerance`."""
    table = pd.read_csv(path, dtype={"published": str})
    printed = table["published"]
    return table.assign(published=printed.astype(float), tolerance=printed.map(rounding))


def initialisation_table(
    curves: pd.DataFrame, training: TrainingSettings, chain: Chain
) -> pd.DataFrame:
    """Per initialisation and seed: final loss, when it came near the bigram entropy, and the mean.

    Args:
        curves: `training.curves` of all initialisations.
        training: of all of them.
        chain: the chain trained on.
    """
    rows = []
    for name, part in curves.groupby("variant", sort=False):
        model = claimed_model(name, chain)
        key, claimed = {"initialisation": name, "claimed": model}, entropy(model, chain)
        beside = {"published": claimed, "note": f"beside it: the {model} entropy"}
        finals = []
        for seed, run in part.groupby("seed", sort=False):
            finals.append(float(run["loss"].iloc[-1]))
            own = key | {"seed": str(seed)}
            final = {"quantity": "final_loss", "value": finals[-1], "n": 1}
            rows.append(own | final | beside | _standing(run, chain))
            rows += [own | row for row in _on_the_way(run, chain)]
        key["seed"] = ALL
        final = {"quantity": "final_loss"} | mean(finals)
        rows.append(key | final | beside | _standing(part, chain))
        left = mean(np.array(finals) - claimed)
        rows.append(key | {"quantity": "final_loss_above_claimed"} | left)
    return judged_initialisations(tidy(rows, START_KEYS), training, chain)


def judged_initialisations(
    table: pd.DataFrame, training: TrainingSettings, chain: Chain
) -> pd.DataFrame:
    """Verdicts of a table of initialisations that has its values: of means over seeds alone."""
    finals = table["quantity"] == "final_loss"
    return _judged_losses(table, finals & (table["seed"] == ALL), [training] * len(table), chain)


def _judged_losses(
    table: pd.DataFrame,
    finals: pd.Series,
    trainings: Sequence[TrainingSettings],
    chain: Chain,
    others: Sequence[Number | None] | None = None,
) -> pd.DataFrame:
    """Final losses beside the claimed entropy, all other rows as `others` says."""
    compared, tolerance = list(others or [None] * len(table)), table["tolerance"].tolist()
    for place in np.flatnonzero(finals):
        model, own = table["claimed"].iloc[place], trainings[place]
        compared[place] = compared_loss(model, chain, kind_of(own, chain))
        tolerance[place] = excess_loss(own, model)
    return judge(with_runs(table.assign(tolerance=tolerance)), compared)


def untrained(run: pd.DataFrame, chain: Chain) -> bool:
    """Whether a run ends where it started, or still above the unigram entropy, or diverged.

    The least that training learns is how frequent the symbols are. A start that has no preference
    has the loss log 2, above both entropies: standing there, it would look trapped.
    """
    start, end = run["loss"].iloc[0], run["loss"].iloc[-1]
    return not (end < start and end <= chain.unigram_entropy + close(chain))


def _standing(runs: pd.DataFrame, chain: Chain) -> dict[str, str]:
    """What stands in a row that rests on these runs, where any of them did not train."""
    seeds = [untrained(run, chain) for _, run in runs.groupby("seed")]
    if not any(seeds):
        return {}
    count = "" if len(seeds) == 1 else f"{sum(seeds)} of {len(seeds)} seeds: "
    return {"verdict": NOT_REACHED, "note": count + UNTRAINED}


def initialisation_notes(training: TrainingSettings, chain: Chain) -> list[str]:
    """Notes under the readable table."""
    return [
        f"{training.sequence_length} inputs per sequence, {training.batch} sequences per "
        f"iteration, {training.iterations} iterations of {training.optimizer}, largest learning "
        f"rate {training.lr:g}, weight decay {training.weight_decay:g}.",
        "Loss: population loss on held-out sequences (nats). Unigram entropy "
        f"{chain.unigram_entropy:.4f}, bigram entropy rate {chain.bigram_entropy:.4f}.",
        HELD_OUT,
        "Verdict: of the mean over seeds, beside the claimed entropy; no effect is the other one. "
        f"Tolerance: the excess loss of a logit estimated from one batch, "
        f"{excess_loss(training, UNIGRAM):.1e} nats, for each logit of the claimed model. Not "
        "reached: the loss ends no lower than it starts, or above the unigram entropy by more than "
        "a tenth of the distance of the two.",
    ]


def ablation_notes(training: TrainingSettings, chain: Chain) -> list[str]:
    """Notes under the readable table."""
    return [
        f"Trapped: the loss ends within {close(chain):.4f} of the unigram entropy "
        f"{chain.unigram_entropy:.4f}, a tenth of its distance from the bigram entropy rate "
        f"{chain.bigram_entropy:.4f}. Escape: first iteration from which on the loss stays further "
        "below it, the earliest of the seeds.",
        f"{training.iterations} iterations unless the row says otherwise; a longer training has a "
        "longer schedule, and is not the shorter one gone on with.",
        HELD_OUT,
        "Verdict: of the mean final loss, beside the entropy claimed for the start; no effect is "
        "the other entropy. The paper says nothing about the changes.",
    ]


def _on_the_way(run: pd.DataFrame, chain: Chain) -> list[dict]:
    """When a run first comes near the bigram entropy, and how far it leaves the unigram one."""
    iteration, loss = run["iteration"].to_numpy(), run["loss"].to_numpy()
    reached = iteration[loss <= chain.bigram_entropy + close(chain)]
    first, last = LATER
    later = (iteration >= first) & (iteration <= last)
    away = abs(loss[later] - chain.unigram_entropy).max() if later.any() else np.nan
    return [
        {
            "quantity": "iteration_near_bigram",
            "within": close(chain),
            "value": float(reached[0]) if len(reached) else np.nan,
            "n": 1,
            "verdict": "" if len(reached) else NOT_REACHED,
            "note": "" if len(reached) else f"not within {iteration[-1]} iterations",
        },
        {
            "quantity": "largest_distance_from_unigram",
            "value": away,
            "n": int(later.sum()),
            "note": f"over iterations {first} to {last}",
        },
    ]


def readable_initialisations(table: pd.DataFrame) -> pd.DataFrame:
    """A row per initialisation and seed."""
    rows = []
    for (name, model, seed), part in table.groupby(START_KEYS[:3], sort=False):
        by = part.set_index("quantity")
        final, value = by.loc["final_loss"], by["value"]
        row = {
            "initialisation": name.replace("_", "-"),
            "seed": seed,
            "final loss": interval(final["value"], final["low"], final["high"], 4),
            "entropy claimed": f"{model}, {number(final['published'], 4)}",
            "above it": "",
        }
        if "final_loss_above_claimed" in by.index:
            left = by.loc["final_loss_above_claimed"]
            row["above it"] = interval(left["value"], left["low"], left["high"], 4)
        row["near the bigram entropy at iteration"] = number(
            value.get("iteration_near_bigram", np.nan), 0
        )
        away = value.get("largest_distance_from_unigram", np.nan)
        row["largest distance from unigram, 100–450"] = number(away, 4)
        row["verdict"] = worded(final)
        rows.append(row)
    return pd.DataFrame(rows)


def rank_one_table(
    curves: pd.DataFrame,
    snapshots: Sequence[int],
    published: pd.DataFrame,
    training: TrainingSettings,
    chain: Chain,
) -> pd.DataFrame:
    """Share of every matrix' largest singular value at the snapshots, mean over seeds.

    Args:
        curves: `training.curves` of all initialisations.
        snapshots: iterations.
        published: `read_published`.
        training: of all initialisations.
        chain: the chain trained on.
    """
    theirs = published.set_index(RANK_KEYS)
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
    return judged_rank_one(tidy(rows, RANK_KEYS), training, chain)


def judged_rank_one(table: pd.DataFrame, training: TrainingSettings, chain: Chain) -> pd.DataFrame:
    """Verdicts of a table of rank one that has its values; no effect is a random matrix."""
    kind = "published" if kind_of(training, chain) == "claim" else "analogue"
    compared = [
        Number(random_share(_rows(matrix, training.d), training.d), kind=kind)
        for matrix in table["matrix"]
    ]
    return judge(with_runs(table), compared)


def _rows(matrix: str, d: int) -> int:
    """How many rows a matrix has, or columns where those are more."""
    return 4 * d if matrix in ("W_1", "W_2") else d


@functools.lru_cache(maxsize=8)
def random_share(rows: int, columns: int, draws: int = 20_000) -> float:
    """Mean share of the largest singular value of matrices of independent normal entries.

    Known to a thousandth: the standard deviation of one is below .1, and there are 20,000.
    """
    random = generator("random share", rows, columns)
    squares = np.linalg.svdvals(random.normal(size=(draws, rows, columns))) ** 2
    return float((squares[:, 0] / squares.sum(axis=1)).mean())


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
            "random": [number(value, 3) for value in table["reference"]],
            "verdict": worded_all(table),
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
        model = claimed_model(variant.initialisation, chain)
        key = {"variant": variant.name, "initialisation": variant.initialisation}
        key |= {"claimed": model, "iterations": variant.applied(base).iterations}
        own = _of_variant(part, chain)
        own["trapped_share"] |= {"published": float(model == UNIGRAM)}
        own["trapped_share"] |= {"note": changes(variant, base)}
        own["final_loss"] |= {"published": entropy(model, chain)}
        if standing := _standing(part, chain):
            own["final_loss"] |= standing
            own["trapped_share"] |= {"verdict": standing["verdict"]}
        rows += [key | {"quantity": quantity} | row for quantity, row in own.items()]
    return judged_ablation(tidy(rows, ABLATION_KEYS), variants, base, chain)


def _of_variant(runs: pd.DataFrame, chain: Chain) -> dict[str, dict]:
    """Rows of one variant by quantity."""
    final = runs[runs["iteration"] == runs["iteration"].max()]
    near = {"within": close(chain)}
    # A start that moves away from the unigram model, up or down, is not trapped by it.
    trapped = abs(final["loss"] - chain.unigram_entropy) <= close(chain)
    left = [_escape(run, chain) for _, run in runs.groupby("seed")]
    escape = near | {"value": np.nan, "n": len(left)}
    if np.isfinite(left).any():
        escape["value"] = np.nanmin(left)
    else:
        escape["verdict"] = NOT_REACHED
        escape["note"] = f"no seed within {runs['iteration'].max()} iterations"
    return {
        "trapped_share": near | share(int(trapped.sum()), len(final)),
        "first_escape_iteration": escape,
        "final_loss": mean(final["loss"]),
        "final_W_1_share": mean(final["W_1_share"], least=0.0, most=1.0),
        "final_loss_above_bigram": mean(final["loss"] - chain.bigram_entropy),
    }


def judged_ablation(
    table: pd.DataFrame, variants: Sequence[Variant], base: TrainingSettings, chain: Chain
) -> pd.DataFrame:
    """Verdicts of an ablation that has its values: of final losses, and of shares of seeds.

    The paper says which start is trapped, in words: 1 and 0 are ours for them.
    """
    own = {variant.name: variant.applied(base) for variant in variants}
    trainings = [own[name] for name in table["variant"]]
    quantity = table["quantity"]
    shares = [
        Number(0.5, kind=kind_of(training, chain)) if name == "trapped_share" else None
        for name, training in zip(quantity, trainings, strict=True)
    ]
    return _judged_losses(table, quantity == "final_loss", trainings, chain, shares)


def changes(variant: Variant, base: TrainingSettings) -> str:
    """What a variant changes, in words."""
    own, old = variant.applied(base).model_dump(), base.model_dump()
    found = [f"{key} {own[key]} instead of {old[key]}" for key in own if own[key] != old[key]]
    return "; ".join(found).replace("_", " ") or "as trained above"


def _escape(run: pd.DataFrame, chain: Chain) -> float:
    """First iteration from which on the loss is below the unigram entropy, not near it; NaN."""
    below = run["loss"].to_numpy() < chain.unigram_entropy - close(chain)
    first = len(below) - int(np.argmin(below[::-1])) if not below.all() else 0
    return float(run["iteration"].iloc[first]) if first < len(below) else np.nan


@row_per(*ABLATION_KEYS[:2])
def readable_ablation(by: pd.DataFrame, name: str, start: str) -> dict:
    """A row per variant."""
    trapped, final = by.loc["trapped_share"], by.loc["final_loss"]
    return {
        "variant": name,
        "start": start.replace("_", "-"),
        "trapped at the unigram model": (
            f"{round(trapped['value'] * trapped['n']):.0f} of {trapped['n']:.0f}"
        ),
        "first escape, iteration": number(by.loc["first_escape_iteration", "value"], 0),
        "final loss [95%]": interval_of(final, 4),
        "claimed": number(final["published"], 4),
        "above the bigram entropy": interval_of(by.loc["final_loss_above_bigram"], 4),
        "W_1 top share": number(by.loc["final_W_1_share", "value"], 3),
        "what changes": trapped["note"],
        "verdict": worded(final),
    }


@table(
    "local_to_global/initialisation",
    "Transformers",
    "table: initialisation",
    reads={"curves": "train_transformers.curves"},
    settings={
        "training": "local_to_global.transformer.training",
        "chain": "local_to_global.transformer.chain",
    },
)
def initialisation(
    curves: pd.DataFrame, training: TrainingSettings, chain: ChainSettings
) -> Report:
    """What three initialisations learn.

    Args:
        curves: `training.curves` of all initialisations.
        training: of all of them.
        chain: the chain trained on.
    """
    own = Chain.of(chain)
    table = initialisation_table(curves, training, own)
    title = f"What each start learns, p = {chain.p:g}, q = {chain.q:g}"
    notes = initialisation_notes(training, own)
    return Report(table, readable_initialisations(table), title, notes)


@table(
    "local_to_global/rank_one",
    "Transformers",
    "table: rank one",
    title="Share of the largest singular value over training",
    notes=[
        "sigma_1^2 / sum of sigma_i^2; 1 means rank one. Ours: mean over seeds with its interval. "
        "Authors: one run, from the weights they saved.",
        "No effect is the mean share of a random matrix of the same shape. The paper says that "
        "all matrices become rank one (figure 3); of W_Q and W_K the authors' own weights at "
        "iteration 200 do not.",
    ],
    readable=readable_rank_one,
    reads={
        "curves": "train_transformers.curves",
        "published": "reference/local_to_global_rank_one.csv",
    },
    settings={
        "snapshots": "local_to_global.transformer.snapshots",
        "training": "local_to_global.transformer.training",
        "chain": "local_to_global.transformer.chain",
    },
)
def rank_one(
    curves: pd.DataFrame,
    published: Path,
    snapshots: list[int],
    training: TrainingSettings,
    chain: ChainSettings,
) -> pd.DataFrame:
    """How close the weights of three initialisations come to rank one.

    Args:
        curves, snapshots, training: as `rank_one_table` takes them.
        published: as `read_published` takes it.
        chain: the chain trained on.
    """
    theirs = read_published(published)
    return rank_one_table(curves, snapshots, theirs, training, Chain.of(chain))


@table(
    "local_to_global/ablation",
    "Transformers",
    "table: ablation",
    reads={"curves": "ablate_transformers.curves"},
    settings={
        "variants": "local_to_global.ablated.variants",
        "training": "local_to_global.ablated.training",
        "chain": "local_to_global.ablated.chain",
    },
)
def ablation(
    curves: pd.DataFrame,
    variants: list[Variant],
    training: TrainingSettings,
    chain: ChainSettings,
) -> Report:
    """Which changes of the training let a start leave the unigram model.

    Args:
        curves: `training.curves` of all variants.
        variants: in the order of rows.
        training: without changes.
        chain: the chain trained on.
    """
    own = Chain.of(chain)
    table = ablation_table(curves, variants, training, own)
    title = "What keeps a start at the unigram model, one change at a time"
    return Report(table, readable_ablation(table), title, ablation_notes(training, own))
