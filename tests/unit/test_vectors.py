"""Claims about embeddings as they are stored."""

import numpy as np
import pandas as pd
import pytest

from onelayer.errors import OnelayerError
from onelayer.papers.topic_structure.wikipedia.probe.labels import labels_of
from onelayer.papers.topic_structure.wikipedia.probe.vectors import Embeddings

KEPT = pd.DataFrame(
    {
        "overlap": "disjoint",
        "threshold": ["top 1", "top 2", "top 2"],
        "topic": [0, 0, 1],
        "word": ["frog", "frog", "sonata"],
    }
)


def embeddings(*words: str) -> Embeddings:
    vectors = np.arange(2.0 * len(words)).reshape(-1, 2)
    return Embeddings(list(words), vectors, -vectors)


def test_vectors_come_in_the_order_asked_for() -> None:
    found = embeddings("frog", "toad", "sonata").of(["sonata", "frog"])
    assert found["raw"].tolist() == [[4, 5], [0, 1]]
    assert found["output"].tolist() == [[-4, -5], [0, -1]]


def test_words_of_several_pieces_are_left_out_of_a_models_measures() -> None:
    whole = {"frog": 5, "sonata": 6}
    labels = labels_of(KEPT, [whole, whole])
    assert labels.words == ("frog", "sonata")
    assert labels.membership.tolist() == [
        [[True, False], [False, False]],
        [[True, False], [False, True]],
    ]
    several = embeddings("toad", "frog").words
    for checkpoints in ([whole, several], [several, whole]):
        left = labels_of(KEPT, checkpoints)
        assert left.words == ("frog",)
        assert left.membership.tolist() == [[[True, False]], [[True, False]]]


def test_a_threshold_without_any_such_word_is_named() -> None:
    with pytest.raises(OnelayerError, match="top 1, disjoint: none of the 1 words of the topics"):
        labels_of(KEPT, [["sonata"]])
    with pytest.raises(OnelayerError, match="top 1, disjoint: none of the 1 words of the topics"):
        labels_of(KEPT, [[]])
