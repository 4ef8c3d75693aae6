"""Latent Dirichlet allocation (Blei, Ng & Jordan 2003) by one of two serial backends.

`gensim` approximates the posterior by online variational Bayes; `tomotopy`, an optional extra,
samples from it with one worker. Model and priors are the same; only the inference differs.
"""

import os
import platform
from collections.abc import Callable, Iterable
from itertools import pairwise
from types import ModuleType

import numpy as np

from onelayer.errors import OnelayerError
from onelayer.settings.topics import LdaSettings
from onelayer.text.topics.bags import Bag, BagOfWords
from onelayer.text.topics.model import Topics
from onelayer.text.topics.online_lda import fit_online


def fit_lda(
    bag: Bag,
    settings: LdaSettings,
    progress: Callable[..., Iterable] = lambda items, **_: items,
) -> Topics:
    """Fit topics to a bag of words; `progress` wraps documents of all passes, or sweeps.

    Raises:
        OnelayerError: no document has a word, the backend is not installed or cannot stream a
            corpus in parts, or the fit is not finite.
    """
    if not bag.lengths.any():
        raise OnelayerError("the bag of words is empty: no article has a word of the vocabulary")
    fit = fit_online if settings.backend == "gensim" else _sample_gibbs
    topics = fit(bag, settings, progress)
    if not np.isfinite(topics.word_probability).all():
        raise OnelayerError(
            f"LDA with {settings.topics} topics gave a word probability that is not finite"
        )
    return topics


def _sample_gibbs(bag: Bag, settings: LdaSettings, progress: Callable[..., Iterable]) -> Topics:
    """Topics of the last sweep of the collapsed Gibbs sampler (Griffiths & Steyvers 2004).

    The priors stay as they are (tomotopy would adapt them every ten sweeps), so that both backends
    fit the same model.
    """
    if not isinstance(bag, BagOfWords):
        raise OnelayerError(
            "tomotopy samples a corpus that is all in memory; for one in parts use gensim"
        )
    alpha, eta = settings.priors
    model = _tomotopy().LDAModel(k=settings.topics, alpha=alpha, eta=eta, seed=settings.seed)
    model.optim_interval = 0
    counts = bag.counts
    names = np.arange(counts.shape[1]).astype(str)
    for start, end in pairwise(counts.indptr):
        words = np.repeat(names[counts.indices[start:end]], counts.data[start:end])
        model.add_doc(words.tolist())
    for _ in progress(range(settings.sweeps), unit="sweep"):
        model.train(1, workers=1, show_progress=False)
    assigned = np.zeros((settings.topics, counts.shape[1]))
    column = np.array([int(name) for name in model.used_vocabs])
    for topic in range(settings.topics):
        # float32, and counts plus eta: rounding gives the counts back.
        assigned[topic, column] = np.rint(model.get_topic_word_dist(topic, normalize=False) - eta)
    priors = np.full(settings.topics, alpha), np.full(counts.shape[1], eta)
    return Topics(assigned + eta, *priors)


def _tomotopy() -> ModuleType:
    # Its sampler is compiled for several instruction sets and takes the widest that the processor
    # has; from one seed they draw different topics. Every x86-64 processor has SSE2.
    if platform.machine() in ("x86_64", "AMD64"):
        os.environ["TOMOTOPY_ISA"] = "sse2"  # read once, by the import
    try:
        import tomotopy
    except ModuleNotFoundError:
        raise OnelayerError(
            "backend tomotopy is not installed; it is the optional extra onelayer[tomotopy]: "
            "pip install 'tomotopy==0.14.*', or leave it out of topics.lda.backend and "
            "topic_structure.robustness.backends"
        ) from None
    return tomotopy
