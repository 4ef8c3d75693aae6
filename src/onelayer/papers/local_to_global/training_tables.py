"""The tables of the trained transformers: initialisations, rank one, and the ablation.

What the paper claims that a start learns: by theorem 2 small starts, the standard and the rank-one
one, reach the global minimum (the bigram model) for p + q < 1 and a local one (the unigram model)
for p + q > 1. The paper's start lies far out at w < -1/sqrt 2, in the other basin: figure 4 has it
reach the bigram model for p + q > 1.

`published` is a number of the authors where there is one (their saved weights), and otherwise the
entropy at which the paper says that training ends; no effect is the other entropy.
"""

import functools
from pathlib import Path

import numpy as np
import pandas as pd

from onelayer.compute.seeds import generator
from onelayer.evidence.intervals import mean, share, with_runs
from onelayer.evidence.tables import ALL, Report, interval_of, number, row_per, table, tidy
from onelayer.evidence.verdicts import (
    FLOAT32,
    NOT_REACHED,
    TENTH,
    Number,
    from_runs,
    judge,
    rounding,
    worded,
)
from onelayer.papers.local_to_global.chain import Chain
from onelayer.settings.local_to_global import (
    AUTHORS_CHAIN,
    ChainSettings,
    TrainingSettings,
    Variant,
)

UNIGRAM, BIGRAM = "unigram", "bigram"
_LOGITS = {UNIGRAM: 1, BIGRAM: 2}  # that a model has to estimate
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
RANDOM_MATRICES = 20_000


def claimed_model(start: str, chain: Chain) -> str:
    """Which model a start is claimed to learn on a chain with p + q other than 1."""
    below = chain.p + chain.q < 1
    return BIGRAM if below == (start != "paper") else UNIGRAM


def entropy(model: str, chain: Chain) -> float:
    """The loss of a model (nats)."""
    return chain.unigram_entropy if model == UNIGRAM else chain.bigram_entropy


def close(chain: Chain) -> float:
    """How near to an entropy a loss counts as at it: a tenth of their distance (nats)."""
    return TENTH * (chain.unigram_entropy - chain.bigram_entropy)


def kind_of(training: TrainingSettings, chain: Chain) -> str:
    """Whether a trained transformer is the authors' own object, or an analogue."""
    on_their_chain = {"p": chain.p, "q": chain.q} == AUTHORS_CHAIN
    return "claim" if training.authors and on_their_chain else "analogue"


def excess_loss(training: TrainingSettings, model: str) -> float:
    """A loss this near to the optimum is as good as it for one batch (nats): 1 / (2 N) a logit.

    A logit that is estimated from N symbols, those of a batch, has the variance 1 / (N p (1 - p)),
    and costs half of that times p (1 - p) more than the best one, in expectation.
    """
    return _LOGITS[model] / (2 * training.batch * training.sequence_length)


def _compared_loss(model: str, training: TrainingSettings, chain: Chain) -> Number:
    """With what a final loss is compared: the claimed entropy; no effect is the other one."""
    other = BIGRAM if model == UNIGRAM else UNIGRAM
    return Number(entropy(other, chain), kind=kind_of(training, chain), relative=FLOAT32)


def _untrained(run: pd.DataFrame, chain: Chain) -> bool:
    """Whether a run ends where it started, or still above the unigram entropy, or diverged.

    The least that training learns is how frequent the symbols are. A start that has no preference
    has the loss log 2, above both entropies: standing there, it would look trapped.
    """
    start, end = run["loss"].iloc[0], run["loss"].iloc[-1]
    return not (end < start and end <= chain.unigram_entropy + close(chain))


def _unreached(runs: pd.DataFrame, chain: Chain) -> dict[str, str]:
    """Verdict and note of a row that rests on these runs, where any of them did not train."""
    seeds = [_untrained(run, chain) for _, run in runs.groupby("seed")]
    if not any(seeds):
        return {}
    count = "" if len(seeds) == 1 else f"{sum(seeds)} of {len(seeds)} seeds: "
    return {"verdict": NOT_REACHED, "note": count + UNTRAINED}


@row_per(*START_KEYS[:3])
def readable_initialisations(by: pd.DataFrame, name: str, model: str, seed: str) -> dict:
    """A row per initialisation and seed."""
    final, value, above = by.loc["final_loss"], by["value"], "final_loss_above_claimed"
    away = value.get("largest_distance_from_unigram", np.nan)
    reached = value.get("iteration_near_bigram", np.nan)
    return {
        "initialisation": name.replace("_", "-"),
        "seed": seed,
        "final loss": interval_of(final, 4),
        "entropy claimed": f"{model}, {number(final['published'], 4)}",
        "above it": interval_of(by.loc[above], 4) if above in by.index else "",
        "near the bigram entropy at iteration": number(reached, 0),
        "largest distance from unigram, 100–450": number(away, 4),
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
    """What three initialisations learn."""
    chain = Chain.of(chain)
    rows = []
    for name, part in curves.groupby("variant", sort=False):
        model = claimed_model(name, chain)
        final = {
            "quantity": "final_loss",
            "published": entropy(model, chain),
            "tolerance": excess_loss(training, model),
            "note": f"beside it: the {model} entropy",
        }
        key, losses = {"initialisation": name, "claimed": model}, []
        for seed, run in part.groupby("seed", sort=False):
            losses.append(float(run["loss"].iloc[-1]))
            key["seed"] = str(seed)
            rows.append(key | final | {"value": losses[-1], "n": 1} | _unreached(run, chain))
            rows += [key | row for row in _on_the_way(run, chain)]
        key["seed"] = ALL
        rows.append(key | final | from_runs(mean(losses)) | _unreached(part, chain))
        above = mean(np.array(losses) - final["published"])
        rows.append(key | {"quantity": "final_loss_above_claimed"} | above)
    table = with_runs(tidy(rows, START_KEYS))
    judged = (table["quantity"] == "final_loss") & (table["seed"] == ALL)
    compared = [_compared_loss(model, training, chain) for model in table["claimed"]]
    table = judge(table, np.where(judged, compared, None).tolist())
    notes = [
        f"{training.sequence_length} inputs per sequence, {training.batch} sequences per "
        f"iteration, {training.iterations} iterations of {training.optimizer}, largest learning "
        f"rate {training.lr:.15g}, weight decay {training.weight_decay:.15g}.",
        "Loss: population loss on held-out sequences (nats). Unigram entropy "
        f"{chain.unigram_entropy:.4f}, bigram entropy rate {chain.bigram_entropy:.4f}.",
        HELD_OUT,
        "Verdict: of the mean over seeds, beside the claimed entropy; no effect is the other one. "
        f"Tolerance: the excess loss of a logit estimated from one batch, "
        f"{excess_loss(training, UNIGRAM):.1e} nats, for each logit of the claimed model. Not "
        "reached: the loss ends no lower than it starts, or above the unigram entropy by more than "
        "a tenth of the distance of the two.",
    ]
    title = f"What each start learns, p = {chain.p:.15g}, q = {chain.q:.15g}"
    return Report(table, readable_initialisations(table), title, notes)


def _on_the_way(run: pd.DataFrame, chain: Chain) -> list[dict]:
    """When a run first comes near the bigram entropy, and how far it leaves the unigram one."""
    iteration, loss = run["iteration"].to_numpy(), run["loss"].to_numpy()
    reached = iteration[loss <= chain.bigram_entropy + close(chain)]
    near = {"quantity": "iteration_near_bigram", "within": close(chain), "n": 1}
    if len(reached):
        near["value"] = float(reached[0])
    else:
        near |= {"verdict": NOT_REACHED, "note": f"not within {iteration[-1]} iterations"}
    first, last = LATER
    later = loss[(iteration >= first) & (iteration <= last)]
    away = {
        "quantity": "largest_distance_from_unigram",
        "value": abs(later - chain.unigram_entropy).max() if len(later) else np.nan,
        "n": len(later),
        "note": f"over iterations {first} to {last}",
    }
    return [near, away]


def read_published(path: Path) -> pd.DataFrame:
    """The authors' numbers: `initialisation`, `matrix`, `iteration`, `published`, `tolerance`."""
    table = pd.read_csv(path, dtype={"published": str})
    printed = table["published"]
    return table.assign(published=printed.astype(float), tolerance=printed.map(rounding))


@functools.lru_cache(maxsize=8)
def random_share(rows: int, columns: int) -> float:
    """Mean share of the largest singular value of matrices of independent normal entries.

    Known to a thousandth: the standard deviation of one is below .1, and there are 20,000.
    """
    random = generator("random share", rows, columns)
    squares = np.linalg.svdvals(random.normal(size=(RANDOM_MATRICES, rows, columns))) ** 2
    return float((squares[:, 0] / squares.sum(axis=1)).mean())


@row_per(*RANK_KEYS)
def readable_rank_one(by: pd.DataFrame, start: str, matrix: str, iteration: int) -> dict:
    """A row per initialisation, matrix and iteration."""
    row = by.loc["top_share"]
    return {
        "initialisation": start.replace("_", "-"),
        "matrix": matrix,
        "iteration": str(iteration),
        "share of the largest singular value [95%]": interval_of(row, 3),
        "authors": number(row["published"], 3),
        "random": number(row["reference"], 3),
        "verdict": worded(row),
    }


@table(
    "local_to_global/rank_one",
    "Transformers",
    "table: rank one",
    title="Share of the largest singular value over training",
    notes=[
        "sigma_1^2 / sum of sigma_i^2; 1 means rank one. Ours: mean over seeds with its interval, "
        "also at the end of the training. Authors: one run, from the weights they saved, up to "
        "iteration 200.",
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
    """How close the weights of three initialisations come to rank one."""
    chain, theirs = Chain.of(chain), read_published(published).set_index(RANK_KEYS)
    unreached = {name: _unreached(part, chain) for name, part in curves.groupby("variant")}
    matrices = [name.removesuffix("_share") for name in curves if name.endswith("_share")]
    shown, rows = {*snapshots, curves["iteration"].max()}, []
    for (name, iteration), part in curves.groupby(["variant", "iteration"], sort=False):
        for matrix in matrices if iteration in shown else ():
            key = {"initialisation": name, "matrix": matrix, "iteration": iteration}
            row = key | from_runs(mean(part[f"{matrix}_share"], least=0.0, most=1.0))
            row["quantity"] = "top_share"
            if (place := (name, matrix, iteration)) in theirs.index:
                row |= theirs.loc[place, ["published", "tolerance"]].to_dict()
                row["note"] = "beside it: the authors' saved weights, one run"
                row |= unreached[name]
            rows.append(row)
    kind = "published" if kind_of(training, chain) == "claim" else "analogue"
    table, d = tidy(rows, RANK_KEYS), training.d
    # A matrix and its transpose have one share.
    longer = [4 * d if matrix in ("W_1", "W_2") else d for matrix in table["matrix"]]
    return judge(with_runs(table), [Number(random_share(rows, d), kind=kind) for rows in longer])


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
    "local_to_global/ablation",
    "Transformers",
    "table: ablation",
    reads={"curves": "ablate_transformers.curves"},
    settings={
        "variants": "local_to_global.ablation.variants",
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
    """Which changes of the training let a start leave the unigram model."""
    chain = Chain.of(chain)
    rows, compared = [], []
    for variant in variants:
        runs, changed = curves[curves["variant"] == variant.name], variant.applied(training)
        model = claimed_model(variant.initialisation, chain)
        key = {"variant": variant.name, "initialisation": variant.initialisation}
        key |= {"claimed": model, "iterations": changed.iterations}
        of_variant, unreached = _of_variant(runs, chain), _unreached(runs, chain)
        final = {"published": entropy(model, chain), "tolerance": excess_loss(changed, model)}
        of_variant["final_loss"] |= unreached | final
        # The paper says which start is trapped, in words.
        trapped = {"published": float(model == UNIGRAM), "note": changes(variant, training)}
        of_variant["trapped_share"] |= unreached | trapped
        rows += [key | {"quantity": quantity} | row for quantity, row in of_variant.items()]
        judged = {
            "trapped_share": Number(0.5, kind=kind_of(changed, chain)),
            "final_loss": _compared_loss(model, changed, chain),
        }
        compared += [judged.get(quantity) for quantity in of_variant]
    table = judge(with_runs(tidy(rows, ABLATION_KEYS)), compared)
    notes = [
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
    title = "What keeps a start at the unigram model, one change at a time"
    return Report(table, readable_ablation(table), title, notes)


def _of_variant(runs: pd.DataFrame, chain: Chain) -> dict[str, dict]:
    """Rows of one variant by quantity."""
    final = runs[runs["iteration"] == runs["iteration"].max()]
    near = {"within": close(chain)}
    # A start that moves away from the unigram model, up or down, is not trapped by it.
    trapped = abs(final["loss"] - chain.unigram_entropy) <= close(chain)
    escapes = [escape(run, chain) for _, run in runs.groupby("seed")]
    first = near | {"value": min(escapes), "n": len(escapes)}
    if first["value"] == np.inf:
        note = f"no seed within {runs['iteration'].max()} iterations"
        first |= {"value": np.nan, "verdict": NOT_REACHED, "note": note}
    return {
        "trapped_share": near | share(int(trapped.sum()), len(final)),
        "first_escape_iteration": first,
        "final_loss": from_runs(mean(final["loss"])),
        "final_W_1_share": mean(final["W_1_share"], least=0.0, most=1.0),
        "final_loss_above_bigram": mean(final["loss"] - chain.bigram_entropy),
    }


def changes(variant: Variant, base: TrainingSettings) -> str:
    """What a variant changes, in words."""
    new, old = variant.applied(base).model_dump(), base.model_dump()
    changed = [f"{key} {new[key]} instead of {old[key]}" for key in new if new[key] != old[key]]
    return "; ".join(changed).replace("_", " ") or "as trained above"


def escape(run: pd.DataFrame, chain: Chain) -> float:
    """First iteration from which on the loss lies below the unigram entropy; infinite: none."""
    below = run["loss"].to_numpy() < chain.unigram_entropy - close(chain)
    after = np.logical_and.accumulate(below[::-1])[::-1]
    return float(run["iteration"].to_numpy()[after.argmax()]) if after.any() else np.inf
