"""Do models need the heads that attend within topics? Loss without them, and without other heads.

Beyond Li, Li & Risteski (2023), who measure attention and not what it is good for. Heads are chosen
by ratios measured on other articles than the loss.
"""

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd

from onelayer.compute.seeds import generator
from onelayer.evidence import intervals
from onelayer.evidence.tables import ALL, Report, interval, table, tidy
from onelayer.evidence.verdicts import UNDECIDED, Direction, judge, worded
from onelayer.papers.topic_structure.wikipedia import over_seeds
from onelayer.papers.topic_structure.wikipedia.over_seeds import SEED
from onelayer.papers.topic_structure.wikipedia.probe.uncertainty import (
    bootstrap_interval,
    document_weights,
)
from onelayer.papers.topic_structure.wikipedia.tables import kind
from onelayer.settings.models import ModelSettings
from onelayer.settings.probe import UncertaintySettings
from onelayer.settings.topic_structure import HeadRemovalSettings, NamedModel, by_name

KEYS = ["model", "removal", "words", SEED]
REMOVALS = ("zero", "uniform")
LARGEST, RANDOM, SAME_LAYERS = "largest", "random", "same_layers"
SAME_TOPIC, OTHER = "same_topic", "other"
CONTRAST = f"{SAME_TOPIC} - {OTHER}"
NONE = "none"
OTHERS = (RANDOM, SAME_LAYERS)
# What matters: a hundredth of a nat, 1% of the perplexity.
MORE = Direction(0.0, 1, matters=0.01)
DIFFERENCES = tuple(f"{LARGEST}_minus_{chosen}" for chosen in OTHERS)
# `loss_of`: what the loss is; `missing`: why there is none, or empty.
COLUMNS = ["document", "removal", "chosen", "words", "loss", "asked", SEED, "loss_of", "missing"]


def notes(settings: HeadRemovalSettings) -> list[str]:
    """What stands below the table."""
    return [
        f"Removed: a share of {settings.heads_share:g} of all heads, those with the largest "
        "attention ratios on the probed articles under the loosest threshold. 'Other heads': as "
        "many of the others, drawn anew for every article, from anywhere or so many from each "
        "layer as there are among the largest. 'zero': a head gives nothing to the layer's output; "
        "'uniform': the mean of all its values, as of attention that is the same to all tokens: "
        "only where it looks is taken away.",
        "Loss: in nats a word, on articles that are neither probed nor trained on, the same words "
        "hidden under all conditions. Same topic: words of which a different word of their topic "
        "stands in the text and is not hidden; other words: all others of the topic model's "
        "vocabulary.",
        "BERT, RoBERTa, ALBERT: cross-entropy of the masked word. BART: heads of the encoder are "
        "removed, and the decoder, which knows the true words before, writes the word. ELECTRA's "
        "discriminator predicts no words: as many as would be hidden are replaced by others, drawn "
        "by their frequency, and the loss is the binary cross-entropy of telling of every word of "
        "the topic model's vocabulary whether it was.",
        "Verdict: 'reproduced' where the whole interval of the difference lies above 0, so that "
        "the heads with the largest ratios matter more than others; 'negligible' where all of it "
        f"is within {MORE.matters:g} nats a word of 0. Nothing published is like it. In rows of "
        "same topic minus other words, the increase itself is judged as well: above 0 heads matter "
        "more for words whose topic the text shows.",
    ]


def without_losses(reason: str) -> pd.DataFrame:
    """Losses of a model of which none was measured: one row, which says why."""
    return pd.DataFrame([{"missing": reason}], columns=COLUMNS)


def reasons(losses: Mapping[str, pd.DataFrame]) -> dict[str, str]:
    """Why nothing was measured of some models, by model."""
    return {name: why for name, own in losses.items() if (why := own["missing"].iloc[0])}


def loosest_variant(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of the first overlap mode and its last threshold, which labels the most words."""
    own = rows[rows["overlap"] == rows["overlap"].iloc[0]]
    return own[own["threshold"] == own["threshold"].iloc[-1]]


def assemble(
    losses: Mapping[str, pd.DataFrame],
    models: Mapping[str, ModelSettings],
    settings: UncertaintySettings,
) -> pd.DataFrame:
    """Losses, their increases and differences of increases, over seeds and of each, tidy.

    Quantities: `loss`, with all heads (`removal` none); `increase_<heads>` without some; and
    `largest_minus_<others>`. `words` are of one kind, or the difference of both kinds. Judged are
    the differences, of heads and of words.

    Args:
        losses: of `probe.head_removal.measure_removal`, by model.
        models: settings of those models.
        settings: resamples of documents, the same for all seeds.
    """
    parts = []
    for name, measured in losses.items():
        if missing := measured["missing"].iloc[0]:
            row = {
                "removal": "zero",
                "words": SAME_TOPIC,
                SEED: ALL,
                "quantity": DIFFERENCES[0],
                "runs": over_seeds.runs(ALL, models[name]),
            }
            parts.append(pd.DataFrame([row | {"value": np.nan, "note": missing}]))
        else:
            parts.append(pd.DataFrame(_rows(measured, models[name], settings)))
        own = kind(models[name])
        parts[-1] = parts[-1].assign(model=name, kind="claim" if own == "published" else own)
    return judged(tidy(pd.concat(parts, ignore_index=True), KEYS))


def judged(table: pd.DataFrame) -> pd.DataFrame:
    """The table with its verdicts; a seed alone is there to be read, and has none.

    Args:
        table: tidy, with the kind of each row: what it is where it is judged.
    """
    sided = table["quantity"].isin(DIFFERENCES)
    sided |= table["words"].eq(CONTRAST) & table["quantity"].eq(f"increase_{LARGEST}")
    sided &= table[SEED].eq(ALL)
    return judge(table, [MORE if judged else None for judged in sided])


def _rows(table: pd.DataFrame, model: ModelSettings, settings: UncertaintySettings) -> Iterator:
    """Rows of one model."""
    seeds = table[SEED].unique()
    documents = table["document"].nunique()
    means = dict(_means(table, settings))
    for (removal, words, quantity), own in _quantities(means).items():
        measured = ~np.isnan(own).any(axis=1)
        row = {"removal": removal, "words": words, "quantity": quantity, "n": documents}
        parts = [(ALL, own[measured])]
        if len(seeds) > 1:
            parts += [(seed, own[[i]]) for i, seed in enumerate(seeds) if measured[i]]
        for seed, replicates in parts:
            if not len(replicates):
                continue
            low, high = bootstrap_interval(replicates[:, 1:].mean(axis=0), documents)
            found = intervals.over_seeds(replicates[:, 0], float(low), float(high))
            ends = dict(zip(("value", "low", "high"), found, strict=True))
            says = [table["loss_of"].iloc[0], over_seeds.note(seed, model)]
            alone, runs = over_seeds.undecided(model), over_seeds.runs(seed, model)
            if seed == ALL and len(replicates) < len(seeds):
                says.append(f"{len(replicates)} of them: in others a layer has too few other heads")
                alone, runs = UNDECIDED if len(replicates) == 1 else "", len(replicates)
            note = "; ".join(filter(None, says))
            yield row | ends | {SEED: seed, "runs": runs, "note": note, "verdict": alone}


def _means(table: pd.DataFrame, settings: UncertaintySettings) -> Iterator[tuple]:
    """Mean loss of each condition, [seeds, 1 + resamples], first as measured; NaN: not measured."""
    seeds, documents = table[SEED].unique(), table["document"].unique()
    rng = generator("documents", settings.seed)
    drawn = document_weights(len(documents), settings.document_resamples, rng)
    weights = np.vstack([np.ones(len(documents)), drawn])  # [1 + R, documents]
    for key, own in table.groupby(["removal", "chosen", "words"], sort=False):
        sums, counts = (
            own.set_index([SEED, "document"])[column]
            .unstack()
            .reindex(index=seeds, columns=documents)
            .to_numpy()
            for column in ("loss", "asked")
        )
        # A resample may hold no such word: a large share of them would show as NaN.
        yield key, sums @ weights.T / np.maximum(counts @ weights.T, 1)


def _quantities(means: Mapping[tuple, np.ndarray]) -> dict[tuple[str, str, str], np.ndarray]:
    """What the table says, from mean losses, by removal, words and quantity."""
    found: dict[tuple[str, str, str], np.ndarray] = {}
    for words in (SAME_TOPIC, OTHER):
        intact = means[NONE, NONE, words]
        found[NONE, words, "loss"] = intact
        for removal in REMOVALS:
            rise = {
                chosen: means[removal, chosen, words] - intact
                for chosen in (LARGEST, *OTHERS)
                if (removal, chosen, words) in means
            }
            for chosen, value in rise.items():
                found[removal, words, f"increase_{chosen}"] = value
            for chosen in OTHERS:
                if chosen in rise:
                    name = f"{LARGEST}_minus_{chosen}"
                    found[removal, words, name] = rise[LARGEST] - rise[chosen]
    for removal, words, quantity in list(found):
        if words == SAME_TOPIC and removal != NONE:
            both = (found[removal, one, quantity] for one in (SAME_TOPIC, OTHER))
            found[removal, CONTRAST, quantity] = np.subtract(*both)
    return found


def readable(table: pd.DataFrame) -> pd.DataFrame:
    """One row per model, removal and kind of words."""
    rows = []
    shown = table[(table[SEED] == ALL) & (table["removal"] != NONE)]
    for (model, removal, words), group in shown.groupby(KEYS[:3], sort=False):
        by = group.set_index("quantity")
        row = {"model": model, "removal": removal, "words": words.replace("_", " ")}
        for quantity, (name, verdict) in _SHOWN.items():
            one = by.loc[quantity] if quantity in by.index else None
            row[name] = "–" if one is None else interval(one["value"], one["low"], one["high"], 4)
            if verdict:
                row[verdict] = "–" if one is None else worded(one)
        row["what it is"] = group["note"].iloc[0]
        rows.append(row)
    return pd.DataFrame(rows)


_SHOWN = {
    f"increase_{LARGEST}": ("without the largest, more [95%]", "verdict on this"),
    f"increase_{RANDOM}": ("without others", ""),
    f"{LARGEST}_minus_{RANDOM}": ("difference", "verdict"),
    f"increase_{SAME_LAYERS}": ("without others of these layers", ""),
    f"{LARGEST}_minus_{SAME_LAYERS}": ("difference from these", "verdict on these"),
}


@table(
    "topic_structure/head_removal",
    "Wikipedia: results",
    "table: heads removed",
    reads={"losses": "removal_losses"},
    settings={
        "models": "trained_models",
        "removal": "topic_structure.wikipedia.head_removal",
        "uncertainty": "probe.uncertainty",
    },
    made="trained_models",
)
def head_removal(
    losses: list[pd.DataFrame],
    models: list[NamedModel],
    removal: HeadRemovalSettings,
    uncertainty: UncertaintySettings,
) -> Report:
    """Losses on words without the heads of the largest topic ratios, and without others."""
    title = "Loss on words without the heads of the largest topic ratios, and without others"
    known = by_name(models)
    found = assemble(dict(zip(known, losses, strict=True)), known, uncertainty)
    return Report(found, readable(found), title, [*notes(removal), over_seeds.NOTE])
