"""Coherence of topics in articles to which they were not fitted: by it topic models are chosen."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pandas as pd

from onelayer.compute.seeds import generator
from onelayer.settings.topics import LdaSettings, NamedLda
from onelayer.text.topics.bags import BagOfWords
from onelayer.text.topics.lda import fit_lda
from onelayer.text.topics.model import top_words
from onelayer.text.topics.quality import coherence


def halves(bag: BagOfWords, seed: int) -> tuple[BagOfWords, BagOfWords]:
    """Two random halves of the documents, each in the corpus's order, over the same vocabulary."""
    order = generator("halves of articles", seed).permutation(bag.size)
    parts = np.sort(order[: bag.size // 2]), np.sort(order[bag.size // 2 :])
    return tuple(BagOfWords(bag.vocabulary, bag.counts[part]) for part in parts)


def held_out_coherence(
    bag: BagOfWords,
    models: Sequence[NamedLda],
    seeds: Sequence[int],
    most: int,
    progress: Callable[..., Iterable] = lambda items, **_: items,
) -> pd.DataFrame:
    """NPMI of the top words of topics that were fitted to one half of the documents.

    Args:
        bag: the corpus, in one piece.
        models: the topic models; their seeds are replaced.
        seeds: of the halves, and of the topic models.
        most: words per topic in NPMI.
        progress: wraps what a fit iterates over.

    Returns:
        Rows `setting`, `seed`, `quantity` and `value`, means over topics, with their number `n`:
        `npmi_held_out` in the other half, `npmi_fitted` in the one that they were fitted to.

    Raises:
        OnelayerError: see `fit_lda`.
    """
    rows = []
    for seed in seeds:
        fitted, other = halves(bag, seed)
        for model in models:
            lda = LdaSettings(**model.model_dump(exclude={"name"}) | {"seed": seed})
            tops = top_words(fit_lda(fitted, lda, progress).word_probability, most)
            for quantity, half in (("npmi_held_out", other), ("npmi_fitted", fitted)):
                value = float(coherence(half, tops).mean())
                rows.append((model.name, seed, quantity, value, len(tops)))
    return pd.DataFrame(rows, columns=["setting", "seed", "quantity", "value", "n"])
