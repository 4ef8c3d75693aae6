"""Topic models of one corpus by backend and seed, and how coherent they are in other articles."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pandas as pd

from onelayer.compute.seeds import generator
from onelayer.settings.topics import LdaSettings, NamedLda, Weights
from onelayer.text.topics.bags import Bag, BagOfWords, TfIdf
from onelayer.text.topics.lda import fit_lda
from onelayer.text.topics.model import Fit, Topics, top_words
from onelayer.text.topics.quality import coherence, measure_topics

QUALITIES = ["nmi", "npmi", "topics_used", "topics_effective"]


def fit_topic_models(
    bag: Bag,
    labels: list[str | None],
    lda: LdaSettings,
    fits: Sequence[Fit],
    most: int,
    progress: Callable[..., Iterable] = lambda items, **_: items,
    weights: Weights = "counts",
) -> tuple[dict[Fit, Topics], pd.DataFrame]:
    """Fit topic models, and `measure_topics` of each.

    `lda` is what the models have in common beside their `fits`. `weights` is what they are fitted
    to; all are measured on the counts.

    Returns:
        The topics, and rows `backend`, `topics`, `seed`, `quantity`, `value`, `n`.
    """
    models, qualities = {}, []
    weighted = TfIdf(bag.vocabulary, bag) if weights == "tf-idf" else bag
    for fit in progress(fits, unit="model"):
        settings = lda.model_copy(update=fit._asdict())
        models[fit] = fit_lda(weighted, settings, progress)
        quality = measure_topics(bag, models[fit], labels, settings, most).quality
        qualities.append(quality.assign(**fit._asdict()))
    table = pd.concat(qualities, ignore_index=True)
    table = table[table["quantity"].isin(QUALITIES)]
    return models, table[["backend", "topics", "seed", "quantity", "value", "n"]]


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
    """NPMI of the `most` top words of topics that were fitted to one half of the documents.

    By it topic models are chosen. `seeds` are those of the halves, and of the topic models, whose
    own they replace.

    Returns:
        Rows `setting`, `seed`, `quantity` and `value`, means over topics, with their number `n`:
        `npmi_held_out` in the other half, `npmi_fitted` in the one that they were fitted to.
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
