"""LDA by collapsed Gibbs sampling (Griffiths & Steyvers 2004): tomotopy, one worker.

tomotopy is an optional extra. Its sampler is compiled for several instruction sets and takes the
widest that the processor has; from one seed they draw different topics. SSE2, which every x86-64
processor has, makes the draws the same on all of them.
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


def sample_gibbs(bag: Bag, settings: LdaSettings, progress: Callable[..., Iterable]) -> Topics:
    """Topics of the last sweep of the sampler; see `onelayer.text.topics.lda.fit_lda`.

    The priors stay as they are (tomotopy would adapt them every ten sweeps), so that both backends
    fit the same model.

    Raises:
        OnelayerError: tomotopy is not installed, or the corpus is in parts.
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
