"""How good a topic model is: agreement with human topics, coherence, how many topics it uses."""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
import scipy.sparse
from sklearn.metrics import normalized_mutual_info_score

from onelayer.job import silent
from onelayer.seeds import generator
from onelayer.settings.topics import LdaSettings
from onelayer.text.topics.bag import Bag
from onelayer.text.topics.lda import Topics, document_topics, fit_topics, top_words

TOP_WORDS = 10  # of a topic, in its table and in NPMI


def agreement_with_labels(best: np.ndarray, labels: Sequence[str | None]) -> float:
    """NMI of human topics and most probable ones, [documents], where there is a label; or NaN."""
    known, labels = pd.notna(labels), np.array(labels, dtype=object)
    if not known.any():
        return float("nan")
    return float(normalized_mutual_info_score(labels[known].tolist(), best[known]))


def coherence(counts: scipy.sparse.csr_matrix, tops: np.ndarray) -> np.ndarray:
    """NPMI of each topic, [topics]: mean over the pairs of its top words, `tops` [topics, n].

    NPMI(v, w) = log(P(v, w) / (P(v) P(w))) / -log P(v, w), with P the share of documents that
    use the word, or both (Bouma 2009); -1 for a pair that never meets.
    """
    used, position = np.unique(tops, return_inverse=True)
    presence = scipy.sparse.csr_matrix(counts[:, used] > 0, dtype=np.float64)
    together = (presence.T @ presence).toarray() / counts.shape[0]
    alone = together.diagonal()
    with np.errstate(divide="ignore", invalid="ignore"):
        npmi = np.log(together / np.outer(alone, alone)) / -np.log(together)
    # Two words in every document say nothing about each other: NPMI's limit there is 1.
    npmi = np.where(together == 1, 1.0, np.where(together > 0, npmi, -1.0))
    pairs = np.triu_indices(tops.shape[1], k=1)
    return np.array([npmi[np.ix_(row, row)][pairs].mean() for row in position.reshape(tops.shape)])


def measure_quality(
    bag: Bag, topics: Topics, labels: Sequence[str | None], lda: LdaSettings, most: int = TOP_WORDS
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Measure a topic model on its own corpus; `labels` are human topics, or None.

    Documents without a word of the vocabulary are left out. Rows `quantity`, `value`, `n`; and a
    row per topic: its `most` most probable `word`s and their `probability`, `npmi`, `prevalence`
    (its share of all documents), its most frequent human `label` and `label_share`.
    """
    best, total, used = [], np.zeros((1, len(topics.alpha))), np.diff(bag.counts.indptr) > 0
    labels, left = [label for label, any_word in zip(labels, used, strict=True) if any_word], used
    for shares in document_topics(topics, bag.counts, lda):
        shares, left = shares[left[: len(shares)]], left[len(shares) :]
        best.append(shares.argmax(axis=1))
        # Document after document whatever the chunks, so that the last digit stays the same.
        total = np.concatenate([total, shares]).sum(axis=0, keepdims=True)
    best = np.concatenate(best)
    documents, prevalence = len(best), total[0] / len(best)
    positive = prevalence[prevalence > 0]
    tops = top_words(topics.word_probability, most)
    npmi = coherence(bag.counts, tops)
    quality = [
        ("nmi", agreement_with_labels(best, labels), int(pd.notna(labels).sum())),
        ("npmi", float(npmi.mean()), len(npmi)),
        ("topics_used", len(np.unique(best)), documents),
        ("topics_effective", float(np.exp(-(positive * np.log(positive)).sum())), documents),
        ("vocabulary", len(bag.vocabulary), documents),
        ("tokens", int(bag.vocabulary["occurrences"].sum()), documents),
    ]
    of_topics = {
        "topic": np.arange(len(tops)),
        "word": bag.vocabulary["word"].to_numpy()[tops].tolist(),
        "probability": np.take_along_axis(topics.word_probability, tops, axis=1).tolist(),
        "npmi": npmi,
        "prevalence": prevalence,
    }
    split = pd.Series(labels, dtype=object).groupby(best).value_counts(normalize=True)
    split = split.rename("label_share").rename_axis(["topic", "label"]).reset_index()
    split = split.sort_values(["label_share", "label"], ascending=[False, True])
    of_topics = pd.DataFrame(of_topics).merge(split.drop_duplicates("topic"), "left", on="topic")
    return pd.DataFrame(quality, columns=["quantity", "value", "n"]), of_topics


def halves(documents: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two random halves of so many documents, each in the corpus's order."""
    order = generator("halves of articles", seed).permutation(documents)
    return np.sort(order[: documents // 2]), np.sort(order[documents // 2 :])


def held_out_coherence(
    bag: Bag, lda: LdaSettings, seeds: list[int], most: int = TOP_WORDS, progress: Callable = silent
) -> float:
    """NPMI, in one half of the documents, of topics fitted to the other: a mean over `seeds`."""
    found = []
    for seed in seeds:
        fitted, other = halves(bag.counts.shape[0], seed)
        half, how = Bag(bag.vocabulary, bag.counts[fitted]), lda.model_copy(update={"seed": seed})
        tops = top_words(fit_topics(half, how, progress=progress).word_probability, most)
        found.append(coherence(bag.counts[other], tops).mean())
    return float(np.mean(found))
