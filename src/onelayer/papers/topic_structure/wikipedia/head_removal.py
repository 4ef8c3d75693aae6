"""Do models need the heads that attend within topics? Loss without them, and without other heads.

Beyond Li, Li & Risteski (2023), who measure attention and not what it is good for. Heads are chosen
by ratios measured on other articles than the loss.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import pandas as pd

from onelayer.compute.seeds import generator
from onelayer.evidence import intervals
from onelayer.evidence.tables import ALL, Report, interval_of, row_per, table, tidy
from onelayer.evidence.verdicts import UNDECIDED, Direction, judge, worded
from onelayer.papers.topic_structure.wikipedia import over_seeds
from onelayer.papers.topic_structure.wikipedia.over_seeds import SEED
from onelayer.papers.topic_structure.wikipedia.over_tokens import LEARNED_NOTE, learned, withhold
from onelayer.papers.topic_structure.wikipedia.probe.removals import (
    CONTRAST,
    LARGEST,
    NONE,
    OTHER,
    OTHERS,
    RANDOM,
    REMOVALS,
    SAME_LAYERS,
    SAME_TOPIC,
)
from onelayer.papers.topic_structure.wikipedia.probe.uncertainty import document_weights
from onelayer.papers.topic_structure.wikipedia.tables import kind
from onelayer.settings.models import ModelSettings
from onelayer.settings.probe import UncertaintySettings
from onelayer.settings.topic_structure import HeadRemovalSettings, NamedModel, by_name

KEYS = ["model", "removal", "words", SEED]
# What matters: a hundredth of a nat, 1% of the perplexity.
MORE = Direction(0.0, 1, matters=0.01)
NONE_ASKED = "no such word is asked for in these articles"
DIFFERENCES = tuple(f"{LARGEST}_minus_{chosen}" for chosen in OTHERS)


def notes(settings: HeadRemovalSettings) -> list[str]:
    """What stands below the table."""
    return [
        f"Removed: a share of {settings.heads_share:.15g} of all heads, those with the largest "
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
        f"is within {MORE.matters:g} nats a word of 0 or, where that is less, within what as many "
        "other heads cost (the column `tolerance`). Nothing published is like it. In rows of "
        "same topic minus other words, the increase itself is judged as well: above 0 heads matter "
        "more for words whose topic the text shows.",
    ]


def assemble(
    losses: Mapping[str, pd.DataFrame],
    models: Mapping[str, ModelSettings],
    settings: UncertaintySettings,
    has_learned: Mapping[str, bool] | None = None,
) -> pd.DataFrame:
    """Losses, their increases and differences of increases, over seeds and of each, tidy.

    Quantities: `loss`, with all heads (`removal` none); `increase_<heads>` without some; and
    `largest_minus_<others>`. `words` are of one kind, or the difference of both kinds. Judged are
    the differences, of heads and of words.

    A seed alone is there to be read, and has no verdict. Where nothing was measured a row says why.

    Args:
        losses: of `probe.head_removal.measure_removal`, by model.
        settings: resamples of documents, the same for all seeds.
        has_learned: of models whether they have `learned`.
    """
    parts = []
    for name, measured in losses.items():
        if missing := measured["missing"].iloc[0]:
            of = {"removal": "zero", "words": SAME_TOPIC, "quantity": DIFFERENCES[0], SEED: ALL}
            runs = over_seeds.runs(ALL, models[name])
            rows = [of | {"value": np.nan, "runs": runs, "note": missing}]
        else:
            rows = _rows(measured, models[name], settings)
        of = kind(models[name])
        parts.append(
            pd.DataFrame(rows).assign(model=name, kind="claim" if of == "published" else of)
        )
    table = tidy(pd.concat(parts, ignore_index=True), KEYS)
    judged = table["quantity"].isin(DIFFERENCES)
    judged |= table["words"].eq(CONTRAST) & table["quantity"].eq(f"increase_{LARGEST}")
    judged &= table[SEED].eq(ALL)
    cost, compared = table.set_index([*KEYS, "quantity"])["value"].to_dict(), []
    for of, one in zip(table.to_dict("records"), judged, strict=True):
        matters = MORE.matters
        if of["quantity"] in DIFFERENCES:
            words = SAME_TOPIC if of["words"] == CONTRAST else of["words"]
            others = f"increase_{of['quantity'].removeprefix(f'{LARGEST}_minus_')}"
            at = of["model"], of["removal"], words, of[SEED], others
            matters = max(0.0, min(matters, cost.get(at, 0.0)))
        compared.append(replace(MORE, matters=matters) if one else None)
    return withhold(lambda rows: judge(rows, compared), table, has_learned or {})


def _rows(table: pd.DataFrame, model: ModelSettings, settings: UncertaintySettings) -> Iterator:
    """Rows of one model."""
    seeds = table[SEED].unique()
    documents = table["document"].nunique()
    means = dict(_means(table, settings))
    for (removal, words, quantity), replicates in _quantities(means).items():
        measured = ~np.isnan(replicates[:, 0])
        if not measured.any():
            row = {"removal": removal, "words": words, "quantity": quantity, "n": documents}
            none = {"value": np.nan, SEED: ALL, "runs": over_seeds.runs(ALL, model)}
            yield row | none | {"note": NONE_ASKED, "verdict": ""}
            continue
        parts = [(ALL, measured)]
        if len(seeds) > 1:
            parts += [(seed, measured & (seeds == seed)) for seed in seeds]
        for seed, chosen in parts:
            if not chosen.any():
                continue
            low, high = _interval(replicates[chosen, 1:].mean(axis=0), documents)
            mean = intervals.over_seeds(replicates[chosen, 0], float(low), float(high))
            says = [table["loss_of"].iloc[0], over_seeds.note(seed, model, quantity)]
            verdict, runs = over_seeds.undecided(model), over_seeds.runs(seed, model)
            if seed == ALL and not measured.all():
                runs = int(measured.sum())
                says.append(f"{runs} of them: in others a layer has too few other heads")
                verdict = UNDECIDED if runs == 1 else ""
            note = "; ".join(filter(None, says))
            row = {"removal": removal, "words": words, "quantity": quantity, "n": documents}
            row |= dict(zip(("value", "low", "high"), mean, strict=True))
            yield row | {SEED: seed, "runs": runs, "note": note, "verdict": verdict}


def _interval(resampled: np.ndarray, documents: int) -> tuple[float, float]:
    """Over the resamples with such words, [R]; NaN where a tenth of them or more have none."""
    usable = ~np.isnan(resampled)
    if usable.mean() < 0.9:
        return np.nan, np.nan
    return intervals.bootstrap_interval(resampled[usable], documents)


def _means(table: pd.DataFrame, settings: UncertaintySettings) -> Iterator[tuple]:
    """Mean loss of each condition, [seeds, 1 + resamples], first as measured; NaN: not measured."""
    seeds, documents = table[SEED].unique(), table["document"].unique()
    rng = generator("documents", settings.seed)
    drawn = document_weights(len(documents), settings.document_resamples, rng)
    weights = np.vstack([np.ones(len(documents)), drawn])  # [1 + R, documents]
    for key, rows in table.groupby(["removal", "chosen", "words"], sort=False):
        sums, counts = (
            rows.set_index([SEED, "document"])[column]
            .unstack()
            .reindex(index=seeds, columns=documents)
            .to_numpy()
            for column in ("loss", "asked")
        )
        # Articles, or a resample of them, may hold no such word.
        with np.errstate(invalid="ignore"):
            yield key, sums @ weights.T / (counts @ weights.T)


def _quantities(means: Mapping[tuple, np.ndarray]) -> dict[tuple[str, str, str], np.ndarray]:
    """What the table says, from mean losses, by removal, words and quantity."""
    quantities: dict[tuple[str, str, str], np.ndarray] = {}
    for words in (SAME_TOPIC, OTHER):
        intact = means[NONE, NONE, words]
        quantities[NONE, words, "loss"] = intact
        for removal in REMOVALS:
            rise = {
                chosen: means[removal, chosen, words] - intact
                for chosen in (LARGEST, *OTHERS)
                if (removal, chosen, words) in means
            }
            for chosen, value in rise.items():
                quantities[removal, words, f"increase_{chosen}"] = value
            largest = rise.pop(LARGEST)
            for chosen, value in rise.items():
                quantities[removal, words, f"{LARGEST}_minus_{chosen}"] = largest - value
    for removal, words, quantity in list(quantities):
        if words == SAME_TOPIC and removal != NONE:
            both = (quantities[removal, one, quantity] for one in (SAME_TOPIC, OTHER))
            quantities[removal, CONTRAST, quantity] = np.subtract(*both)
    return quantities


@row_per("model", "removal", "words")
def readable(rows: pd.DataFrame, model: str, removal: str, words: str) -> dict[str, str]:
    """One row per model, removal and kind of words."""
    by = dict(rows.iterrows())
    row = {"model": model, "removal": removal, "words": words.replace("_", " ")}
    for quantity, name, verdict in (
        (f"increase_{LARGEST}", "without the largest, more [95%]", "verdict on this"),
        (f"increase_{RANDOM}", "without others", ""),
        (f"{LARGEST}_minus_{RANDOM}", "difference", "verdict"),
        (f"increase_{SAME_LAYERS}", "without others of these layers", ""),
        (f"{LARGEST}_minus_{SAME_LAYERS}", "difference from these", "verdict on these"),
    ):
        row[name] = interval_of(by.get(quantity), 4)
        if verdict:
            row[verdict] = worded(by[quantity]) if quantity in by else "–"
    return row | {"what it is": rows["note"].iloc[0]}


@table(
    "topic_structure/head_removal",
    "Wikipedia: results",
    "table: heads removed",
    reads={"losses": "removal_losses", "snapshots": "measures_over_tokens"},
    settings={
        "models": "trained_models",
        "followed": "models_over_tokens",
        "removal": "topic_structure.wikipedia.head_removal",
        "uncertainty": "probe.uncertainty",
    },
    made="trained_models",
)
def head_removal(
    losses: list[pd.DataFrame],
    snapshots: list[pd.DataFrame],
    models: list[NamedModel],
    followed: list[NamedModel],
    removal: HeadRemovalSettings,
    uncertainty: UncertaintySettings,
) -> Report:
    """Losses on words without the heads of the largest topic ratios, and without others."""
    title = "Loss on words without the heads of the largest topic ratios, and without others"
    settings_of = by_name(models)
    measured = dict(zip(settings_of, losses, strict=True))
    has_learned = learned(followed, snapshots)
    table = assemble(measured, settings_of, uncertainty, has_learned)
    shown = readable(table[(table[SEED] == ALL) & (table["removal"] != NONE)])
    return Report(table, shown, title, [*notes(removal), LEARNED_NOTE, over_seeds.NOTE])
