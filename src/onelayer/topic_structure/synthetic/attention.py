"""Average attention between words by pair class after training: the published table.

The classes: same word; same topic, different word; different topics. Averages are over all ordered
pairs of positions that hold words, each with itself too.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from onelayer.ensemble.execution import Execution
from onelayer.seeds import generator
from onelayer.settings.topic_structure_synthetic import (
    AttentionTableSettings,
    AttentionVariant,
    SyntheticTraining,
    TopicModelSettings,
)
from onelayer.topic_structure.synthetic import closed_form
from onelayer.topic_structure.synthetic.data import (
    SPECIAL,
    Vocabulary,
    count_rows,
    draw,
    draw_documents,
    topic_weights,
)
from onelayer.topic_structure.synthetic.model import attention_logits
from onelayer.topic_structure.synthetic.train import Run, train_runs

PAIR_CLASSES = ("same_word", "same_topic", "different_topic")
NO_TOPIC, NOT_COUNTED = -1, -2
FLOOR = 600.0  # exp(-600), also as a share of a document, is not rounded to 0


def correct_topics(vocabulary: Vocabulary) -> np.ndarray:
    """Topic of each id, int64 [D]; special ids are not counted."""
    topics = vocabulary.topic.copy()
    topics[:SPECIAL] = NOT_COUNTED
    return topics


def shifted_topics(vocabulary: Vocabulary) -> np.ndarray:
    """Topics as the authors' released code looks them up: by id as if it were the word's number.

    Word w has id w + 4, but its topic is read at w + 4. So topics are shifted by four words, the
    last four words have none, and START counts as a word of the first topic.
    """
    topics = np.arange(vocabulary.size) // vocabulary.v
    topics[vocabulary.T * vocabulary.v :] = NO_TOPIC
    return topics


def evaluation_counts(vocabulary: Vocabulary, tokens: np.ndarray, length: int) -> np.ndarray:
    """Key counts of unmasked documents, [documents, longest], cut to `length` tokens: [., D]."""
    kept = tokens[:, :length]
    return count_rows(vocabulary, kept, kept, np.zeros_like(kept, bool)).keys.astype(np.float64)


def pair_averages(S: np.ndarray, counts: np.ndarray, topics: np.ndarray, length: int) -> np.ndarray:
    """Mean attention weight from one position to another by pair class.

    Args:
        S: attention logits, [runs, D queries, D keys]; more than `FLOOR` below the largest of its
            query counts as `FLOOR` below it.
        counts: `evaluation_counts`, [documents, D].
        topics: topic of each id; ids with `NO_TOPIC` count only as same word, ids with
            `NOT_COUNTED` not at all.
        length: weights of a document of n tokens are multiplied by n / length, as the authors do.

    Returns:
        float64 [runs, 3], in the order of `PAIR_CLASSES`; NaN for a class without pairs, and for
        all classes where S is not finite.
    """
    words = np.flatnonzero(topics != NOT_COUNTED)
    topic = topics[words]
    have_topics = (topic[:, None] != NO_TOPIC) & (topic != NO_TOPIC)
    same_word = np.eye(len(words), dtype=bool)
    same_topic = have_topics & (topic[:, None] == topic) & ~same_word
    classes = np.stack([same_word, same_topic, have_topics & (topic[:, None] != topic)])
    n = counts[:, words]
    pairs = np.tensordot(classes, n.T @ n, axes=([1, 2], [0, 1]))
    queries = n * counts.sum(axis=1, keepdims=True) / length
    averages = np.full((len(S), len(PAIR_CLASSES)), np.nan)
    for run, logits in enumerate(S):
        if np.isfinite(logits).all():
            below = logits[words] - logits[words].max(axis=1, keepdims=True)
            weight = np.exp(np.maximum(below, -FLOOR))  # [queries, keys]
            # A softmax differs between documents in its sum alone.
            each = (queries / (counts @ weight.T)).T @ n * weight[:, words]
            sums = np.tensordot(classes, each, axes=([1, 2], [0, 1]))
            np.divide(sums, pairs, out=averages[run], where=pairs > 0)
    return averages


def released_steps(base: SyntheticTraining, block: AttentionTableSettings) -> int:
    """Updates of the released configuration: its passes over our documents."""
    return block.released.epochs * (block.documents // base.batch)


def topic_attention(
    base: SyntheticTraining,
    block: AttentionTableSettings,
    name: str,
    execution: Execution = Execution(),
) -> tuple[pd.DataFrame, dict[str, np.ndarray]]:
    """Train a variant of the table; average its attention, and keep one run for the heat maps.

    Of the `released` variant the first seeds go on to the released budget.

    Returns:
        Rows `variant`, `accounting` (correct or shifted topics), `optimizer`, `learning_rate`,
        `seed`, `budget` (table or released), `step`, one column per pair class, `diverged_at`; and
        of the first row's first seed `weights`, W_K^T W_Q, and the logits `S`, [D, D], with the
        heat map's `document`.
    """
    variant = next(one for one in block.variants if one.name == name)
    runs = [
        Run(seed, one.optimizer, one.learning_rate)
        for one in sorted(variant.optimizers, key=lambda one: one.optimizer)
        for seed in range(block.seeds)
    ]
    longer = block.released.seeds if name == block.released.variant else {}
    go_on = [run for run in runs if run.seed < longer.get(run.optimizer, 0)]
    rest = [run for run in runs if run not in go_on]
    end = {"table": block.steps}
    parts, kept = [], {}
    for some, looks in ((go_on, end | {"released": released_steps(base, block)}), (rest, end)):
        if some:
            last = max(looks.values())
            part = execution.part(last, f"{name} until {last}")
            averages, of_first = _train(base, block, variant, some, looks, part)
            parts.append(averages)
            kept = kept or of_first
    return pd.concat(parts, ignore_index=True), kept


def _train(
    base: SyntheticTraining,
    block: AttentionTableSettings,
    variant: AttentionVariant,
    runs: Sequence[Run],
    looks: Mapping[str, int],
    execution: Execution,
) -> tuple[pd.DataFrame, dict[str, np.ndarray]]:
    """Rows of `topic_attention` after the steps of each budget; what is kept of the first run."""
    vocabulary = Vocabulary(base.model.T, base.model.v)
    of = {"concentration": block.concentration, "masked_attended": variant.masked_attended}
    rows = draw(base.model, block.documents, block.N, "attention", **of)
    frozen = {"W_V": closed_form.stage_one_optimum(vocabulary, rows)}
    trained = train_runs(
        base,
        rows,
        runs,
        variant.embedding,
        variant.loss,
        max(looks.values()),
        lambda p: {"S": attention_logits(p, variant.embedding), "weights": p["W_K"].mT @ p["W_Q"]},
        sorted(set(looks.values())),
        frozen=frozen if variant.frozen_value else {},
        execution=execution,
    )
    documents = evaluation_documents(base.model, block, variant)
    counts = evaluation_counts(vocabulary, documents, block.evaluated_tokens)
    of_runs = pd.DataFrame(runs)[["optimizer", "learning_rate", "seed"]]
    of_runs = of_runs.assign(variant=variant.name, diverged_at=trained.diverged_at.numpy())
    parts, logits = [], trained.observed["S"].double().numpy()
    for budget, step in looks.items():
        S = logits[trained.observed_at.index(step)]
        for accounting, topics in (
            ("correct", correct_topics(vocabulary)),
            ("shifted", shifted_topics(vocabulary)),
        ):
            averages = pair_averages(S, counts, topics, block.evaluated_tokens)
            part = of_runs.assign(budget=budget, step=step, accounting=accounting)
            parts.append(part.assign(**dict(zip(PAIR_CLASSES, averages.T, strict=True))))
    shown = trained.observed_at.index(block.steps)
    return pd.concat(parts, ignore_index=True), {
        "S": logits[shown, 0],
        "weights": trained.observed["weights"][shown, 0].numpy(),
        "document": documents[0, : block.evaluated_tokens],
    }


def evaluation_documents(
    words: TopicModelSettings, block: AttentionTableSettings, variant: AttentionVariant
) -> np.ndarray:
    """Fresh documents like those of the training, unmasked, int64 [documents, positions]."""
    rng = generator("topic documents", "evaluation")
    weights = topic_weights(rng, words.T, block.evaluated_documents, None, block.concentration)
    vocabulary = Vocabulary(words.T, words.v)
    return draw_documents(rng, vocabulary, weights, block.N, not variant.masked_attended)
