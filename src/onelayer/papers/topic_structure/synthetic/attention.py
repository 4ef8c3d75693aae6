"""Average attention between words by pair class, from attention logits and document counts.

Li, Li & Risteski (2023), table of optimisers and learning rates: same word; same topic, different
word; different topics; over all ordered pairs of positions that hold words, each with itself too.
"""

import numpy as np

from onelayer.papers.topic_structure.synthetic.data import SPECIAL, Vocabulary, count_rows

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
    """Key counts of unmasked documents, [documents, longest], cut to `length` tokens.

    Returns:
        float64 [documents, D].
    """
    kept = tokens[:, :length]
    none = np.zeros(kept.shape, dtype=bool)
    return count_rows(vocabulary, kept, kept, none).keys.astype(np.float64)


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
