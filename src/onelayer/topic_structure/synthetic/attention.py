"""'Stage 2 result': the published table of average attention between words by pair class.

Averages are over all ordered pairs of positions that hold words, each with itself too.
"""

import itertools

import numpy as np
import pandas as pd

from onelayer.ensemble.execution import Execution
from onelayer.seeds import generator
from onelayer.settings import topic_structure_synthetic as blocks
from onelayer.topic_structure.synthetic import data
from onelayer.topic_structure.synthetic.data import PAIR_CLASSES
from onelayer.topic_structure.synthetic.model import PARAMETERS, attention_logits
from onelayer.topic_structure.synthetic.optima import stage_one_optimum
from onelayer.topic_structure.synthetic.train import Run, train_runs

NO_TOPIC, NOT_COUNTED = -1, -2
FLOOR = 600.0  # most that a logit counts as below its query's largest: exp(-600) is not 0


def accountings(words: blocks.TopicModelSettings) -> dict[str, np.ndarray]:
    """Topic of each id, int64 [D]: `correct`, where special ids are not counted, and `shifted`.

    The authors' released code looks topics up by id as if it were the word's number. Word w has id
    w + 4, but its topic is read at w + 4. So topics are shifted by four words, the last four words
    have none, and START counts as a word of the first topic.
    """
    correct = data.topics_of_ids(words)
    shifted = np.arange(len(correct)) // words.v
    return {
        "correct": np.where(correct < 0, NOT_COUNTED, correct),
        "shifted": np.where(shifted < words.T, shifted, NO_TOPIC),
    }


def pair_averages(
    S: np.ndarray, documents: np.ndarray, topics: np.ndarray, length: int
) -> np.ndarray:
    """Mean attention weight from one position to another by `PAIR_CLASSES`, float64 [runs, 3].

    Logits S are [runs, D queries, D keys]; unmasked documents of ids, [documents, longest], are cut
    to `length`, and weights of one of n tokens multiplied by n / length, as the authors do. Ids of
    topic `NO_TOPIC` count only as same word, of `NOT_COUNTED` not at all. NaN stands for a class
    without pairs, and for all classes where S is not finite.
    """
    row, kept = np.arange(len(documents))[:, None], documents[:, :length]
    counts = np.zeros((len(documents), S.shape[-1]))
    np.add.at(counts, (row, kept), kept != data.PAD)
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


def topic_attention(
    base: blocks.SyntheticTraining, block: blocks.AttentionTableSettings, execution=Execution()
) -> tuple[pd.DataFrame, dict[str, np.ndarray]]:
    """Train the one variant of the block; average its attention, keep a run for the heat maps.

    The first seeds go on to the released budget, if the variant does. Attention is averaged over
    fresh documents, framed as those of the training are. Rows have the run, `accounting` (correct
    or shifted topics), `budget` (table or released), `step`, a column per pair class, and
    `diverged_at`. Kept are of the first row's first seed `weights`, W_K^T W_Q, and the logits `S`,
    [D, D], and the heat map's `document`.
    """
    [variant], words = block.variants, base.model
    embedding, attended = variant.embedding, variant.masked_attended
    rows = data.draw(words, block, "attention", masked_attended=attended)
    fixed = {"W_V": stage_one_optimum(words, rows)} if variant.frozen_value else {}
    rng = generator("topic documents", "evaluation")
    weights = data.topic_weights(rng, words.T, block.evaluated_documents, None, block.concentration)
    fresh = data.draw_documents(rng, words.v, weights, block.N, not attended)
    kept = {"document": fresh[0, : block.evaluated_tokens]}
    longer = block.released_seeds if variant.released else {}
    runs_until = {"released": [], "table": []}  # the first seeds go on to the released budget
    for optimizer, rates in sorted(variant.rates.items()):
        for rate, seed in itertools.product(rates, range(block.seeds[optimizer])):
            last = "released" if seed < longer.get(optimizer, 0) else "table"
            runs_until[last].append(Run(seed, optimizer, rate))
    released = block.released_epochs * (block.documents // base.batch)
    parts = []
    for last, runs in runs_until.items():
        if not runs:
            continue
        budgets = {"table": block.steps} | ({"released": released} if last == "released" else {})
        steps = max(budgets.values())
        ended = train_runs(
            *(base, rows, runs, embedding, variant.loss, steps),
            lambda p: {"S": attention_logits(p, embedding), "weights": p["W_K"].mT @ p["W_Q"]},
            budgets.values(),
            trained=[name for name in PARAMETERS[embedding] if name not in fixed],
            fixed=fixed,
            execution=execution.part(steps),
        )
        logits = ended.observed["S"].double().numpy()
        table = pd.DataFrame(runs)[["optimizer", "learning_rate", "seed"]]
        table = table.assign(variant=variant.name, diverged_at=ended.diverged_at.numpy())
        for budget, step in budgets.items():
            S = logits[ended.observed_at.index(step)]
            for accounting, topics in accountings(words).items():
                part = table.assign(budget=budget, step=step, accounting=accounting)
                part[PAIR_CLASSES] = pair_averages(S, fresh, topics, block.evaluated_tokens)
                parts.append(part)
        at = ended.observed_at.index(block.steps)
        kept = {"S": logits[at, 0], "weights": ended.observed["weights"][at, 0].numpy()} | kept
    return pd.concat(parts, ignore_index=True), kept
