"""The gap and attention tables of Li, Li & Risteski (2023), synthetic: theory and published beside.

A run that diverged is left out of every mean, counted in the note, and has a row of its own
wherever rows are runs. Where none went through, or one stood still, the verdict is `not reached`.
"""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from onelayer.evidence.intervals import mean
from onelayer.evidence.tables import Report, interval_of, number, row_per, table, tidy
from onelayer.evidence.verdicts import (
    FLOAT32,
    NOT_REACHED,
    Comparison,
    Direction,
    Number,
    from_runs,
    judge,
    rounding,
    worded,
    worded_all,
)
from onelayer.papers.topic_structure.synthetic import closed_form
from onelayer.papers.topic_structure.synthetic.attention import PAIR_CLASSES
from onelayer.settings.topic_structure_synthetic import (
    AttentionVariant,
    TheorySettings,
    TopicModelSettings,
)

# The smallest attention ratio above 1 that would matter: a tenth of the smallest published one's.
MATTERS = 0.04
OPTIMIZERS = {"adam": "Adam", "sgd": "SGD"}
UNMOVED = 0.01  # all weights this close to uniform attention, as a share of it: stood still
GAP_KEYS = ["parameter", "masked", "loss", "optimizer", "weight_decay"]
ATTENTION_KEYS = ["variant", "accounting", "optimizer", "learning_rate", "budget", "until"]
# Where training stops, as a key, whatever the number of steps is.
TABLE, RELEASED, LAST, BEST = "table", "released", "last", "best held-out loss"
BECOMES = {"p_c": "stay as they are", "p_r": "show a random word"}  # words to predict
RATIO = "topic_to_different_ratio"
TOPIC_IDS = "correct"  # the accounting that looks topics up by word


def over_runs(
    values: pd.Series, diverged: pd.Series, least: float = -math.inf, most: float = math.inf
) -> dict:
    """Mean over the runs that went through, its 95% t interval, their number, and a note.

    The quantity lies between `least` and `most` by definition.
    """
    values, lost = np.asarray(values, dtype=float), np.asarray(diverged, dtype=bool)
    note = f"{lost.sum()} of {len(lost)} runs diverged and are left out" if lost.any() else ""
    none = {"verdict": NOT_REACHED} if lost.any() and lost.all() else {}
    return independent(mean(values[~lost], least, most)) | {"note": note} | none


def independent(estimate: dict) -> dict:
    """A mean or a share of independent runs, with their number where an interval rests on them."""
    alone = math.isnan(estimate["low"])
    return from_runs(estimate) | {"runs": math.nan if alone else estimate["n"]}


def joined(*notes: str) -> str:
    """Notes as one, those that say nothing left out."""
    return "; ".join(filter(None, notes))


# Uniform attention: the theorems' gap. No topic structure is no gap.
THEOREM = Number(0.0, kind="theory", relative=FLOAT32)


def gap_tolerance(model: TopicModelSettings, theory: TheorySettings) -> float:
    """How far from the theorem's the optimum on these documents may lie: their length and number.

    All rows are of one draw of documents, so that no interval has the draw in it.
    """
    length = closed_form.off_by_length(model, theory.tau, theory.N)
    return length + closed_form.off_by_draw(model, theory.N, theory.documents)


def tidy_gaps(gaps: pd.DataFrame, tolerance: float = math.nan) -> pd.DataFrame:
    """`gap` and `gap_to_theory_ratio` of W_V and E by setting, the theorem's value as published.

    Rows of `gaps.uniform_attention`; a figure, which shows no verdict, needs no tolerance.
    """
    rows = []
    for key, runs in gaps.groupby(GAP_KEYS, sort=False):
        setting = dict(zip(GAP_KEYS, key, strict=True))
        squared, hidden = setting["loss"] == "squared", setting["masked"] == "hidden"
        note = "" if squared else "the theorems are about squared loss"
        if hidden:
            note = "masked positions are no keys: not the theorem's formula, see the notes"
        theory = float(runs["theory"].iloc[0])
        quantities = {"gap": runs["gap"]}
        if not math.isnan(theory):
            quantities["gap_to_theory_ratio"] = runs["gap"] / theory
        for quantity, values in quantities.items():
            row = over_runs(values, runs["diverged_at"] >= 0)
            row["note"] = joined(row["note"], note)
            if setting["optimizer"] == "closed form":  # exact, of the one draw of documents
                row["verdict"] = ""
            if quantity == "gap" and squared and not (setting["weight_decay"] or hidden):
                row |= {"published": theory, "tolerance": tolerance}
            rows.append(setting | {"quantity": quantity} | row)
    return judge(tidy(rows, GAP_KEYS), THEOREM)


@row_per(*GAP_KEYS)
def readable_gaps(
    by: pd.DataFrame, matrix: str, masked: str, loss: str, optimizer: str, decay: float
) -> dict:
    """A row per setting."""
    gap = by.loc["gap"]
    return {
        "matrix": matrix,
        "masked positions": masked,
        "loss": loss.replace("_", "-"),
        "optimiser": optimizer,
        "weight decay": f"{decay:.15g}",
        "gap [95%]": interval_of(gap, 5),
        "gap / theory": number(by["value"].get("gap_to_theory_ratio"), 4),
        "theorem": number(gap["published"], 5),
        "verdict": worded(gap),
        "runs": str(int(gap["n"])),
        "note": gap["note"],
    }


@table(
    "topic_structure/theory_gap",
    "Synthetic: tables",
    "table: theory gap",
    reads={"gaps": "train_uniform_attention.gaps"},
    settings={
        "model": "topic_structure.synthetic.model",
        "theory": "topic_structure.synthetic.theory",
    },
)
def theory_gap(gaps: pd.DataFrame, model: TopicModelSettings, theory: TheorySettings) -> Report:
    """The gaps of W_V and E beside the theorems' value."""
    tolerance = gap_tolerance(model, theory)
    share = tolerance / closed_form.theory_gap(model)
    notes = [
        "Gap: mean over same-topic pairs of words, each word with itself too, minus mean over "
        "pairs of different topics. Theorem: 1 / (v (1 - (1 - p_c) p_m)), for squared loss summed "
        "over the vocabulary and averaged over masked positions, uniform attention, masked "
        "positions attended, infinitely long documents, weight decay towards 0. W_V: one-hot "
        "embeddings. E = W_E^T W_E: W_V = I, tied decoder.",
        "Closed form: the exact optimum on the same documents (ridge regression for W_V; for E a "
        "convex problem over positive semidefinite matrices).",
        "The authors' released code hides masked positions from attention. The gap is then (words "
        "+ 2) / (words v), with the words that stay visible and START and END as keys: another "
        "number than the theorem's.",
        "Under cross-entropy the same blocks appear, but the gap grows as long as training goes "
        "on: a pattern, no value.",
        "Their code adds weight_decay / 2 times the norm of `param.data`, which has no gradient: "
        "their runs have no weight decay whatever the setting says. Here it is the gradient of "
        "half of it times the squared norm.",
        f"The theorem lets documents be infinitely long. {share:.2%} of it is granted: what "
        f"documents of {theory.N[0]:,} words take off, exactly, and half of the 95% interval over "
        f"draws of {theory.documents:,} of them. Trainings are on the same draw: what else they "
        "differ by is the optimiser's.",
    ]
    title = (
        "Topic structure, synthetic: same-topic minus different-topic gap under uniform attention"
    )
    tidied = tidy_gaps(gaps, tolerance)
    return Report(tidied, readable_gaps(tidied), title, notes)


def read_published(path: Path) -> pd.DataFrame:
    """The published table, tidy: `optimizer`, `learning_rate`, `quantity`, `published`, and std.

    `tolerance` is half a unit of the last digit of `published`.
    """
    table = pd.read_csv(path, dtype={f"{name}_mean": str for name in PAIR_CLASSES})
    keys = table[["learning_rate"]].assign(optimizer=table["optimizer"].str.lower())
    parts = [
        keys.assign(
            quantity=name,
            published=table[f"{name}_mean"].astype(float),
            published_std=table[f"{name}_std"],
            tolerance=table[f"{name}_mean"].map(rounding),
        )
        for name in PAIR_CLASSES
    ]
    return pd.concat(parts, ignore_index=True)


def at_budgets(over_steps: pd.DataFrame, released_steps: int) -> pd.DataFrame:
    """The looks that the table shows: the released budget, the least held-out loss, and the end.

    They are some of the rows of `trained_attention.attention_over_steps`.
    """
    runs = [key for key in ATTENTION_KEYS if key not in ("budget", "until")] + ["seed"]
    correct = over_steps[over_steps["accounting"] == TOPIC_IDS].reset_index(drop=True)
    correct["still_falling"] = correct["step"] == correct.groupby(runs)["step"].transform("max")
    released = correct["step"] == released_steps
    ended = correct["still_falling"] & ~released
    fixed = [correct[released].assign(budget=RELEASED), correct[ended].assign(budget=LAST)]
    fixed = pd.concat(fixed).sort_values("step", kind="stable")
    fixed["until"] = fixed["step"].astype(str) + " steps"
    best = correct["held_out_loss"].fillna(np.inf).groupby([correct[key] for key in runs]).idxmin()
    looks = pd.concat([fixed, correct.loc[best].assign(budget=BEST, until=BEST)])
    return looks.sort_values(["optimizer", "learning_rate"], kind="stable")


def tidy_attention(
    averages: Sequence[pd.DataFrame],
    published: pd.DataFrame,
    variants: Sequence[AttentionVariant],
    evaluated_tokens: int,
    budgets: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Average attention by pair class, its standard deviation over seeds, and topic / different.

    The authors' model with each word's own topic is the published table's object; other models, and
    topics looked up as the released code does, are analogues. Where W_V is frozen there is nothing
    published, and the theorem has a direction.

    Args:
        averages: rows of `trained_attention.topic_attention`, a table per variant.
        published: `read_published`.
        evaluated_tokens: length of the evaluated documents (tokens).
        budgets: `at_budgets`, rows that follow; None for none.
    """
    theirs = published.set_index(["optimizer", "learning_rate", "quantity"])
    by_name = {variant.name: variant for variant in variants}
    rows = []
    short = pd.concat(averages).assign(budget=TABLE)
    short["until"] = short["step"].astype(str) + " steps"
    every = pd.concat([short, budgets])
    for key, group in every.groupby(ATTENTION_KEYS, sort=False):
        setting = dict(zip(ATTENTION_KEYS, key, strict=True))
        diverged = group["diverged_at"] >= 0
        through = group[~diverged]
        uniform = _uniform(through, evaluated_tokens)
        printed = theirs.iloc[:0]
        if by_name[setting["variant"]].printed:
            place = (setting["optimizer"], setting["learning_rate"])
            printed = theirs[theirs.index.droplevel("quantity") == place].droplevel([0, 1])
        values = {name: group[name] for name in PAIR_CLASSES}
        values |= {RATIO: group["same_topic"] / group["different_topic"]}
        for quantity, of_runs in values.items():
            row = over_runs(of_runs, diverged)
            note = joined(row["note"], uniform.get("note", ""))
            row = setting | {"quantity": quantity} | row | uniform | {"note": note}
            if quantity == RATIO:
                rows.append(row | _published_ratio(printed))
                continue
            rows.append(row | (printed.loc[quantity].to_dict() if len(printed) else {}))
            spread = {"value": through[quantity].std(ddof=1), "n": row["n"]}
            rows.append(setting | {"quantity": f"{quantity}_std"} | spread)
        if "held_out_loss" in group and group["held_out_loss"].notna().any():
            for quantity in ("held_out_loss", "step"):
                row = setting | {"quantity": quantity} | over_runs(group[quantity], diverged)
                if setting["budget"] == BEST and (falling := through["still_falling"].sum()):
                    note = f"at the end of {falling} of {row['n']} runs"
                    row["note"] = joined(row["note"], note)
                rows.append(row)
    table = tidy(rows, ATTENTION_KEYS)
    return judge(
        table,
        [_compared(row, by_name[row.variant], evaluated_tokens) for row in table.itertuples()],
    )


def _compared(row: tuple, variant: AttentionVariant, evaluated_tokens: int) -> Comparison | None:
    """With what a row is compared; no topic structure is uniform attention, or a ratio of 1."""
    authors = variant.authors and row.accounting == TOPIC_IDS
    kind = "published" if authors else "analogue"
    if row.quantity in PAIR_CLASSES:
        return Number(1 / evaluated_tokens, kind=kind)
    if row.quantity != RATIO:
        return None
    if not variant.printed:
        side = Direction(1.0, 1, MATTERS, "claim" if variant.frozen_value else "analogue")
        return side if row.accounting == TOPIC_IDS else None
    return Number(kind=kind)


def _uniform(runs: pd.DataFrame, length: int) -> dict[str, str]:
    """Verdict and note of a row that rests on these runs, where any is at uniform attention."""
    still = ((runs[list(PAIR_CLASSES)] * length - 1).abs() <= UNMOVED).all(axis=1).sum()
    if not still:
        return {}
    note = f"{still} of {len(runs)} runs still uniform: W_K and W_Q have not moved"
    return {"verdict": NOT_REACHED, "note": note}


def _published_ratio(printed: pd.DataFrame) -> dict[str, float]:
    """Same topic over different topic, and what the rounding of both makes of it."""
    if not len(printed):
        return {}
    same, different = (printed.loc[name] for name in PAIR_CLASSES[1:])
    ratio = same["published"] / different["published"]
    shares = (row["tolerance"] / row["published"] for row in (same, different))
    return {"published": ratio, "tolerance": ratio * sum(shares)}


@row_per(*ATTENTION_KEYS)
def readable_attention(
    by: pd.DataFrame, variant: str, ids: str, optimizer: str, rate: float, budget: str, until: str
) -> dict:
    """The published table's shape, a block per variant and accounting."""
    row = {
        "trained": variant.replace("_", " "),
        "topic ids": ids,
        "optimiser": f"{OPTIMIZERS[optimizer]} {rate:.15g}",
        "until": until,
    }
    for name in PAIR_CLASSES:
        ours, label = by.loc[name], name.replace("_", " ")
        row[f"{label} (± std)"] = _plus_minus(ours["value"], by["value"][f"{name}_std"])
        row[f"{label}, paper"] = _plus_minus(ours["published"], ours["published_std"])
    ratio = by.loc[RATIO]
    ended = by["note"].get("step", "") if budget == BEST else ""
    return row | {
        "topic / different [95%]": interval_of(ratio),
        "paper": number(ratio["published"]),
        "held-out loss": number(by["value"].get("held_out_loss")),
        "compared as": ratio["kind"] or "–",
        "verdicts (word, topic, different, ratio)": ", ".join(
            worded_all(by.loc[[*PAIR_CLASSES, RATIO]])
        ),
        "runs": joined(str(int(ratio["n"])), ratio["note"], ended),
    }


def _masked(variant: AttentionVariant) -> str:
    """What becomes of the selected words where the variant has masks of its own."""
    shares = variant.own_masks.items()
    told = " and ".join(f"{share:.0%} {BECOMES[name]}" for name, share in shares)
    return f"{variant.name.replace('_', ' ')}: of the words to predict {told}."


def _plus_minus(value: float, spread: float) -> str:
    if math.isnan(value):
        return "–"
    return f"{value:.5f}" + ("" if math.isnan(spread) else f" ± {spread:.5f}")


@table(
    "topic_structure/attention_by_optimizer",
    "Synthetic: tables",
    "table: attention by optimiser",
    reads={
        "averages": "train_topic_attention.averages",
        "over_steps": "train_attention_over_steps.averages",
        "published": "reference/topic_structure_attention.csv",
    },
    settings={
        "variants": "topic_structure.synthetic.attention.variants",
        "evaluated_tokens": "topic_structure.synthetic.attention.evaluated_tokens",
        "released_steps": "topic_structure.synthetic.released_steps",
    },
)
def attention_by_optimizer(
    averages: list[pd.DataFrame],
    over_steps: list[pd.DataFrame],
    published: Path,
    variants: list[AttentionVariant],
    evaluated_tokens: int,
    released_steps: int,
) -> Report:
    """Average attention by optimiser and learning rate beside the published table."""
    title = "Topic structure, synthetic: average attention by optimiser and learning rate"
    notes = [
        "Mean attention weight from one position to another over all ordered pairs of positions "
        "that hold words, each with itself too, on fresh unmasked documents cut to "
        f"{evaluated_tokens} tokens: uniform attention is {1 / evaluated_tokens:g}. Ours: mean ± "
        "standard deviation over seeds.",
        "layer norm: what the authors' released code trains when asked for one-hot embeddings: a "
        "token-type vector is added and a trainable LayerNorm follows. it hides masked "
        "words from attention and frames documents by START and END. one hot: the paper's model; "
        "here and in all that follow masked words are among those attended to. one hot two topics: "
        "on documents of two topics, as the theory has them, in place of Dirichlet weights; "
        "residual, tied and tied residual read these, too. "
        "frozen value: W_V frozen at stage 1's optimum, only W_K and W_Q trained (stage 2). "
        "residual: one hot, and a matrix takes each word to the output at its own position, past "
        "attention, as the residual stream of a transformer does; the paper has none. tied: "
        "embeddings are trained and are the output layer; tied residual: these, too, past "
        "attention, as in BERT.",
        *(_masked(variant) for variant in variants if variant.own_masks),
        "The published table cannot be reproduced from the released code. It looks topics up by "
        "id where it should by word, which shifts them by four words ('shifted' does the same), "
        "it hides masked positions from attention, draws masks once, and never reads the seed of "
        "its settings. With SGD it leaves uniform attention only after several times the steps of "
        "its configuration.",
        "until best held-out loss: of the looks of each run, the one with the least loss on "
        "masked documents that no run trains on; the same documents choose it and tell the loss "
        "(nats). Where it is the end of a run, the loss was still falling.",
        "Verdicts: shares of the published distance from uniform attention, and of the ratio's "
        "from 1. The authors' model with each word's own topic is what was published; the other "
        "models and the shifted ids are analogues. Where W_V is frozen the claim is that the "
        f"ratio is above 1, and {MATTERS:g} more would matter, a tenth of about the smallest "
        f"published effect. 'not reached': a run has all three averages within {UNMOVED:.0%} of "
        "uniform attention, where it shows nothing by standing.",
    ]
    budgets = at_budgets(pd.concat(over_steps), released_steps)
    printed = read_published(published)
    tidied = tidy_attention(averages, printed, variants, evaluated_tokens, budgets)
    return Report(tidied, readable_attention(tidied), title, notes)
