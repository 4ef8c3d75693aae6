"""Latent Dirichlet allocation (Blei, Ng & Jordan 2003) by one of two serial backends.

`gensim` approximates the posterior by online variational Bayes, `tomotopy` samples from it by
collapsed Gibbs sampling. Model and priors are the same; only the inference differs.
"""

from collections.abc import Callable, Iterable

import numpy as np

from onelayer.errors import OnelayerError
from onelayer.settings.topics import LdaSettings
from onelayer.text.topics.bags import Bag
from onelayer.text.topics.gibbs_lda import sample_gibbs
from onelayer.text.topics.model import Topics
from onelayer.text.topics.online_lda import fit_online

BACKENDS = {"gensim": fit_online, "tomotopy": sample_gibbs}


def fit_lda(
    bag: Bag,
    settings: LdaSettings,
    progress: Callable[..., Iterable] = lambda items, **_: items,
) -> Topics:
    """Fit topics to a bag of words.

    Args:
        bag: the corpus.
        settings: backend, topics, priors, schedule and seed.
        progress: wraps an iterable (documents of all passes, or sweeps) in a progress bar.

    Raises:
        OnelayerError: no document has a word, the backend is not installed or cannot stream a
            corpus in parts, or the fit is not finite.
    """
    if not bag.entries:
        raise OnelayerError("the bag of words is empty: no article has a word of the vocabulary")
    topics = BACKENDS[settings.backend](bag, settings, progress)
    if not np.isfinite(topics.word_probability).all():
        raise OnelayerError(
            f"LDA with {settings.topics} topics gave a word probability that is not finite"
        )
    return topics
