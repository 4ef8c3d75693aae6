"""Topic models of one corpus that differ in nothing but backend and seed."""

import itertools
from collections.abc import Callable, Iterable, Sequence

import pandas as pd

from onelayer.settings.topics import Backend, LdaSettings
from onelayer.text.topics.bags import Bag
from onelayer.text.topics.lda import fit_lda
from onelayer.text.topics.model import Fit, Topics
from onelayer.text.topics.quality import measure_topics

QUALITIES = ["nmi", "npmi", "topics_used", "topics_effective"]


def fit_topic_models(
    bag: Bag,
    labels: list[str | None],
    lda: LdaSettings,
    backends: Sequence[Backend],
    seeds: Sequence[int],
    top_words: int,
    progress: Callable[..., Iterable] = lambda items, **_: items,
) -> tuple[dict[Fit, Topics], pd.DataFrame]:
    """Fit and judge a topic model for every backend and seed.

    Args:
        bag: the corpus.
        labels: human topic of each document, None where it has none.
        lda: what the models have in common; its backend and seed are replaced.
        backends, seeds: of the models.
        top_words: words per topic in NPMI.
        progress: wraps the fits, and what each of them iterates over, in progress bars.

    Returns:
        The topics, and rows `backend`, `topics`, `seed`, `quantity`, `value`, `n`.

    Raises:
        OnelayerError: see `fit_lda`.
    """
    models, qualities = {}, []
    pairs = list(itertools.product(backends, seeds))
    for backend, seed in progress(pairs, unit="model"):
        one = lda.model_copy(update={"backend": backend, "seed": seed})
        topics = fit_lda(bag, one, progress)
        quality = measure_topics(bag, topics, labels, one, top_words).quality
        fit = Fit(backend, one.topics, seed)
        models[fit] = topics
        qualities.append(quality.assign(**fit._asdict()))
    table = pd.concat(qualities, ignore_index=True)
    table = table[table["quantity"].isin(QUALITIES)]
    return models, table[["backend", "topics", "seed", "quantity", "value", "n"]]
