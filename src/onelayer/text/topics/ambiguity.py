"""The ambiguity filter of Li, Li & Risteski (2023): per topic, keep its most representative words.

`disjoint`: a word stays only in its most probable topic, as in theory; `overlapping`: in several.
"""

from itertools import product

import numpy as np
import pandas as pd

from onelayer.errors import OnelayerError
from onelayer.settings.topics import AmbiguitySettings
from onelayer.text.topics.lda import top_words


def filter_ambiguous_words(
    word_probability: np.ndarray,
    words: list[str],
    settings: AmbiguitySettings,
    allow_empty: bool = False,
) -> pd.DataFrame:
    """Keep each topic's most probable words by P(word | topic), for every overlap and threshold.

    Rows `overlap`, `threshold` (its label), `topic`, `word`, `probability`, most probable first. A
    topic without a word is an OnelayerError, with `allow_empty` it is left out.
    """
    topics, vocabulary = word_probability.shape
    tables = []
    for overlap, threshold in product(settings.overlaps, settings.thresholds):
        kept = threshold.words_kept(vocabulary)
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
