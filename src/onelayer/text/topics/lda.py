"""Latent Dirichlet allocation (Blei, Ng & Jordan 2003) by one of two backends; words of its topics.

`gensim`: online variational Bayes (Hoffman, Blei & Bach 2010); `tomotopy` samples the posterior.
"""

import logging
import os
import platform
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise, product
from pathlib import Path

import numpy as np
import pandas as pd
import safetensors.numpy
import scipy.sparse

from onelayer.errors import OnelayerError
from onelayer.job import silent
from onelayer.seeds import generator
from onelayer.settings.topics import AmbiguitySettings, LdaSettings, Weights
from onelayer.text.topics.bag import Bag


@dataclass(frozen=True)
class Topics:
    """A fitted topic model."""

    # [topics, words] float64: lambda of variational Bayes, or counts plus eta of a Gibbs sample.
    dirichlet: np.ndarray
    alpha: np.ndarray  # [topics] float64, Dirichlet prior of a document's topics
    eta: np.ndarray  # [words] float64, Dirichlet prior of a topic's words

    @property
    def word_probability(self) -> np.ndarray:
        """P(word | topic), [topics, words] float64; rows sum to 1."""
        return self.dirichlet / self.dirichlet.sum(axis=1, keepdims=True)


def write_topics(topics: Topics, path: Path) -> None:
    """Write a topic model as `.safetensors`."""
    arrays = {name: np.ascontiguousarray(array) for name, array in vars(topics).items()}
    safetensors.numpy.save_file(arrays, path)


def read_topics(path: Path) -> Topics:
    """Read what `write_topics` wrote."""
    return Topics(**safetensors.numpy.load_file(path))


def top_words(word_probability: np.ndarray, count: int) -> np.ndarray:
    """Indices of each topic's most probable words, [topics, count]; of ties the first words."""
    return np.argsort(-word_probability, axis=1, kind="stable")[:, :count]


def fit_topics(
    bag: Bag, settings: LdaSettings, weights: Weights = "counts", progress: Callable = silent
) -> Topics:
    """Fit topics to word counts, or to their tf-idf weights as the authors' code does.

    An OnelayerError where weights are asked of a backend that takes counts only.
    """
    if settings.backend == "gensim":
        # Online LDA takes each chunk for a sample of the whole corpus; corpora come sorted (by
        # human topic, by title), and learning them in that order costs coherence.
        order = generator("document order", settings.seed).permutation(bag.counts.shape[0])
        used_by = bag.vocabulary["documents"].to_numpy()
        rarity = np.log2(len(order) / used_by) if weights == "tf-idf" else None
        model = _online_model(len(bag.vocabulary), settings)
        model.update(_Documents(bag.counts, order, rarity, progress))
        return Topics(model.state.get_lambda(), model.alpha, model.eta)
    if weights == "counts":
        return _sample_gibbs(bag.counts, settings, progress)
    raise OnelayerError(f"tomotopy samples words, which are counted; {weights} needs gensim")


class _Documents:  # as gensim reads them, [(word, count or weight)], one at a time
    def __init__(self, counts, order: Sequence[int], rarity=None, progress=silent) -> None:
        self.counts, self.order, self.rarity, self.progress = counts, order, rarity, progress

    def __len__(self) -> int:
        return len(self.order)

    def __iter__(self) -> Iterator[list[tuple[int, float]]]:
        for document in self.progress(self.order, unit="doc"):
            span = slice(*self.counts.indptr[document : document + 2])
            words, weights = self.counts.indices[span], self.counts.data[span]
            if self.rarity is not None:  # gensim's TfidfModel(normalize=True)
                weights = weights * self.rarity[words]
                weights = weights / (np.linalg.norm(weights) or 1)
            yield list(zip(words.tolist(), weights.tolist(), strict=True))


def _online_model(words: int, settings: LdaSettings):
    # gensim takes longer to load than many a step's work.
    from gensim.models import LdaModel
    from gensim.utils import FakeDict

    # It warns wherever passes times iterations are few; ours are the paper's.
    logging.getLogger("gensim.models.ldamodel").setLevel(logging.ERROR)
    given = settings.model_dump(include={"passes", "chunksize", "decay", "offset"})
    given |= {"num_topics": settings.topics, "random_state": settings.seed}
    # By default its priors are 1 / topics, and an E-step takes 50 iterations at most. Perplexity
    # would draw numbers, too; float32 underflows where topics are many.
    return LdaModel(id2word=FakeDict(words), dtype=np.float64, eval_every=None, **given)


def document_topics(
    topics: Topics, counts: scipy.sparse.csr_matrix, settings: LdaSettings
) -> Iterator[np.ndarray]:
    """P(topic | document), [documents, topics] float64, a few at a time.

    By variational inference for every backend: what is measured on them compares the topics.
    """
    model = _online_model(len(topics.eta), settings)
    model.alpha, model.eta = topics.alpha, topics.eta
    # Rounded as after a fit, which keeps lambda without eta.
    model.state.eta, model.state.sstats = topics.eta, topics.dirichlet - topics.eta
    model.sync_state()
    documents = iter(_Documents(counts, range(counts.shape[0])))
    while chunk := list(islice(documents, 2000)):
        gamma, _ = model.inference(chunk)
        yield gamma / gamma.sum(axis=1, keepdims=True)


def _sample_gibbs(counts: scipy.sparse.csr_matrix, settings: LdaSettings, progress) -> Topics:
    """Topics of the last sweep of the collapsed Gibbs sampler (Griffiths & Steyvers 2004)."""
    # Its sampler is compiled for several instruction sets and takes the widest that the processor
    # has; from one seed they draw different topics. Every x86-64 processor has SSE2.
    if platform.machine() in ("x86_64", "AMD64"):
        os.environ["TOMOTOPY_ISA"] = "sse2"  # read once, by the import
    import tomotopy

    prior = 1 / settings.topics
    model = tomotopy.LDAModel(k=settings.topics, alpha=prior, eta=prior, seed=settings.seed)
    model.optim_interval = 0  # it would adapt the priors every ten sweeps
    names = np.arange(counts.shape[1]).astype(str)
    for start, end in pairwise(counts.indptr):
        words = np.repeat(names[counts.indices[start:end]], counts.data[start:end])
        model.add_doc(words.tolist())
    for _ in progress(range(settings.sweeps), unit="sweep"):
        model.train(1, workers=1, show_progress=False)
    assigned = np.zeros((settings.topics, counts.shape[1]))
    rows = [model.get_topic_word_dist(n, normalize=False) for n in range(settings.topics)]
    # float32, and counts plus eta: rounding gives the counts back.
    assigned[:, np.array(model.used_vocabs, dtype=int)] = np.rint(np.array(rows) - prior)
    return Topics(assigned + prior, *(np.full(size, prior) for size in assigned.shape))


def filter_ambiguous_words(
    word_probability: np.ndarray, words: list[str], settings: AmbiguitySettings, allow_empty=False
) -> pd.DataFrame:
    """Keep each topic's most representative words (Li, Li & Risteski 2023), most probable first.

    `disjoint`: a word stays only in its most probable topic, as in theory; `overlapping`: in all.
    Rows `overlap`, `threshold` (its label), `topic`, `word`, `probability`. A topic without a word
    is an OnelayerError, with `allow_empty` it is left out.
    """
    topics, vocabulary = word_probability.shape
    tables = []
    for overlap, threshold in product(settings.overlaps, settings.thresholds):
        kept = threshold.count or int(threshold.fraction * vocabulary)
        where = f"topics.ambiguity: threshold {threshold.label}, {overlap}"
        if not 1 <= kept <= vocabulary:
            problem = f"keeps {kept} of {vocabulary} words a topic; 1 to {vocabulary} allowed"
            raise OnelayerError(f"{where}: {problem}")
        tops = top_words(word_probability, kept)
        topic, word = np.repeat(np.arange(topics), kept), tops.ravel()
        if overlap == "disjoint":
            at_home = word_probability.argmax(axis=0)[word] == topic
            topic, word = topic[at_home], word[at_home]
            empty = np.setdiff1d(np.arange(topics), topic)
            if len(empty) and not allow_empty:
                problem = f"leaves no word in topic {', '.join(map(str, empty))}"
                raise OnelayerError(f"{where}: {problem}: all its top words are likelier elsewhere")
        table = {"overlap": overlap, "threshold": threshold.label, "topic": topic}
        table |= {"word": [words[n] for n in word], "probability": word_probability[topic, word]}
        tables.append(pd.DataFrame(table))
    return pd.concat(tables, ignore_index=True)
