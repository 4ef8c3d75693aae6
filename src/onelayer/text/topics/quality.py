"""How good a topic model is: agreement with human topics, coherence, how many topics it uses."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import scipy.sparse
from sklearn.metrics import normalized_mutual_info_score

from onelayer.settings.topics import LdaSettings
from onelayer.text.topics.bags import Bag
from onelayer.text.topics.model import Topics, top_words
from onelayer.text.topics.online_lda import document_topics


def agreement_with_labels(best: np.ndarray, labels: list[str | None]) -> float:
    """Normalised mutual information of most probable topics and human topics, 0 to 1.

    Documents without a label are left out; NaN where none has one. Arithmetic mean of the two
    entropies, as scikit-learn's default. `best` is the most probable topic of each document.
    """
    rows = [index for index, label in enumerate(labels) if isinstance(label, str)]
    if not rows:
        return float("nan")
    return float(normalized_mutual_info_score([labels[index] for index in rows], best[rows]))


def coherence(bag: Bag, tops: np.ndarray) -> np.ndarray:
    """NPMI of each topic, [topics]: mean over the pairs of its top words.

    NPMI(v, w) = log(P(v, w) / (P(v) P(w))) / -log P(v, w), with P the share of documents that
    use the word, or both (Bouma 2009); -1 for a pair that never meets. `tops` are the indices of
    the words, [topics, n].
    """
    used, position = np.unique(tops, return_inverse=True)
    position = position.reshape(tops.shape)
    together = np.zeros((len(used), len(used)))
    for counts in bag.parts():
        presence = scipy.sparse.csr_matrix(counts[:, used] > 0, dtype=np.float64)
        together += (presence.T @ presence).toarray()
    together /= bag.size
    alone = together.diagonal()
    with np.errstate(divide="ignore", invalid="ignore"):
        npmi = np.log(together / np.outer(alone, alone)) / -np.log(together)
    # Two words in every document say nothing about each other: NPMI's limit there is 1.
    npmi = np.where(together == 1, 1.0, np.where(together > 0, npmi, -1.0))
    pairs = np.triu_indices(tops.shape[1], k=1)
    return np.array([npmi[np.ix_(row, row)][pairs].mean() for row in position])


def topics_used(best: np.ndarray, prevalence: np.ndarray) -> tuple[int, float]:
    """How many topics are some document's most probable one, `best`, and the effective number.

    That is exp(entropy) of `prevalence`, the share of each topic in all documents, [topics].
    """
    positive = prevalence[prevalence > 0]
    used = len(np.unique(best))
    return used, float(np.exp(-(positive * np.log(positive)).sum()))


@dataclass(frozen=True)
class TopicMeasures:
    """What is measured of a topic model.

    `words` has the topic's `prevalence` (share of all documents' topic weight) and a `rank` (1 is
    most probable); `shares` how a topic's documents (those where it is the most probable topic)
    split into human topics, empty for a corpus without labels.
    """

    quality: pd.DataFrame  # `quantity`, `value`, `n`
    words: pd.DataFrame  # `topic`, `rank`, `word`, `probability`, `npmi`, `prevalence`
    shares: pd.DataFrame  # `topic`, `label`, `share`


def measure_topics(
    bag: Bag, topics: Topics, labels: list[str | None], lda: LdaSettings, most: int
) -> TopicMeasures:
    """Measure a fitted topic model on the corpus that it was fitted to, with the fit's settings.

    `labels` has the human topic of each document, None where it has none; `most` is the number of
    words per topic in NPMI. Documents without a word of the vocabulary have no topic, and are left
    out.
    """
    best, prevalence = _most_probable(topics, bag, lda)
    labels = [label for label, words in zip(labels, bag.lengths, strict=True) if words]
    tops = top_words(topics.word_probability, most)
    npmi = coherence(bag, tops)
    used, effective = topics_used(best, prevalence)
    documents, words = len(best), len(bag.vocabulary)
    labelled = sum(isinstance(label, str) for label in labels)
    quality = pd.DataFrame(
        [
            ("nmi", agreement_with_labels(best, labels), labelled),
            ("npmi", float(npmi.mean()), len(npmi)),
            ("topics_used", used, documents),
            ("topics_effective", effective, documents),
            ("vocabulary", words, documents),
            ("tokens", int(bag.vocabulary["occurrences"].sum()), documents),
        ],
        columns=["quantity", "value", "n"],
    )
    topic, rank = np.indices(tops.shape).reshape(2, -1)
    top_table = pd.DataFrame(
        {
            "topic": topic,
            "rank": rank + 1,
            "word": bag.vocabulary["word"].to_numpy()[tops.ravel()],
            "probability": topics.word_probability[topic, tops.ravel()],
            "npmi": npmi[topic],
            "prevalence": prevalence[topic],
        }
    )
    return TopicMeasures(quality, top_table, _label_shares(best, labels))


def _most_probable(
    topics: Topics, bag: Bag, settings: LdaSettings
) -> tuple[np.ndarray, np.ndarray]:
    """The most probable topic of each document with a word, and all topics' shares, [topics]."""
    best, total, lengths = [], np.zeros((1, len(topics.alpha))), bag.lengths
    for shares in document_topics(topics, bag, settings):
        shares, lengths = shares[lengths[: len(shares)] > 0], lengths[len(shares) :]
        best.append(shares.argmax(axis=1))
        # Document after document whatever the chunks, so that the last digit stays the same.
        total = np.concatenate([total, shares]).sum(axis=0, keepdims=True)
    best = np.concatenate(best)
    return best, total[0] / len(best)


def _label_shares(best: np.ndarray, labels: list[str | None]) -> pd.DataFrame:
    table = pd.DataFrame({"topic": best, "label": labels}).dropna()
    counts = table.groupby(["topic", "label"]).size().rename("documents").reset_index()
    counts["share"] = counts["documents"] / counts.groupby("topic")["documents"].transform("sum")
    return counts
