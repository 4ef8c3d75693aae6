"""Topic models of one corpus that differ in nothing but backend and seed."""

import itertools
from collections.abc import Callable, Iterable

import pandas as pd

from onelayer.settings.topics import TopicModelsSettings, TopicQualitySettings
from onelayer.topics.bags import Bag
from onelayer.topics.lda import fit_lda
from onelayer.topics.model import Fit, Topics
from onelayer.topics.quality import measure_topics

QUALITIES = ["nmi", "npmi", "topics_used", "topics_effective"]


def fit_topic_models(
    bag: Bag,
    labels: list[str | None],
    settings: TopicModelsSettings,
    progress: Callable[..., Iterable] = lambda items, **_: items,
) -> tuple[dict[Fit, Topics], pd.DataFrame]:
    """Fit and judge a topic model for every backend and seed.

    Args:
        bag: the corpus.
        labels: human topic of each document, None where it has none.
        settings: backends, seeds, and what the models have in common.
        progress: wraps the fits, and what each of them iterates over, in progress bars.

    Returns:
        The topics, and rows `backend`, `topics`, `seed`, `quantity`, `value`, `n`.

    Raises:
        OnelayerError: see `fit_lda`.
    """
    models, qualities = {}, []
    pairs = list(itertools.product(settings.backends, settings.seeds))
    for backend, seed in progress(pairs, unit="model"):
        lda = settings.lda.model_copy(update={"backend": backend, "seed": seed})
        topics = fit_lda(bag, lda, progress)
        judged = TopicQualitySettings(lda=lda, top_words=settings.top_words)
        quality = measure_topics(bag, topics, labels, judged).quality
        fit = Fit(backend, lda.topics, seed)
        models[fit] = topics
        qualities.append(quality.assign(**fit._asdict()))
    table = pd.concat(qualities, ignore_index=True)
    table = table[table["quantity"].isin(QUALITIES)]
    return models, table[["backend", "topics", "seed", "quantity", "value", "n"]]
