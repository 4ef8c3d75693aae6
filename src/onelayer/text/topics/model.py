"""A fitted topic model as arrays, whichever backend fitted it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import safetensors.numpy


@dataclass(frozen=True)
class Topics:
    """A fitted topic model.

    `dirichlet` has the parameters of each topic's Dirichlet over words given the corpus, all
    positive: lambda of variational Bayes, or word counts plus eta of a Gibbs sample.
    """

    dirichlet: np.ndarray  # [topics, words] float64
    alpha: np.ndarray  # [topics] float64, Dirichlet prior of a document's topics
    eta: np.ndarray  # [words] float64, Dirichlet prior of a topic's words

    @property
    def word_probability(self) -> np.ndarray:
        """P(word | topic), [topics, words] float64; rows sum to 1."""
        return self.dirichlet / self.dirichlet.sum(axis=1, keepdims=True)


class Fit(NamedTuple):
    """Which of many topic models of one corpus: what they differ in."""

    backend: str
    topics: int
    seed: int

    def __str__(self) -> str:
        return f"{self.backend}, {self.topics} topics, seed {self.seed}"


def top_words(word_probability: np.ndarray, count: int) -> np.ndarray:
    """Indices of each topic's most probable words, [topics, count], most probable first.

    Ties go to the word that comes first in the vocabulary, on every machine.
    """
    return np.argsort(-word_probability, axis=1, kind="stable")[:, :count]


def write_topics(topics: Topics, path: Path) -> None:
    """Write a topic model as `.safetensors`."""
    arrays = {name: np.ascontiguousarray(array) for name, array in vars(topics).items()}
    safetensors.numpy.save_file(arrays, path)


def read_topics(path: Path) -> Topics:
    """Read what `write_topics` wrote."""
    return Topics(**safetensors.numpy.load_file(path))


def write_topic_models(models: Mapping[Fit, Topics], path: Path) -> None:
    """Write many topic models as one `.safetensors`."""
    arrays = {
        f"{fit.backend}/{fit.topics}/{fit.seed}/{name}": np.ascontiguousarray(array)
        for fit, topics in models.items()
        for name, array in vars(topics).items()
    }
    safetensors.numpy.save_file(arrays, path)


def read_topic_models(path: Path) -> dict[Fit, Topics]:
    """Read what `write_topic_models` wrote, sorted by backend, size and seed."""
    parts: dict[Fit, dict[str, np.ndarray]] = {}
    for key, array in safetensors.numpy.load_file(path).items():
        backend, topics, seed, name = key.split("/")
        parts.setdefault(Fit(backend, int(topics), int(seed)), {})[name] = array
    return {fit: Topics(**parts[fit]) for fit in sorted(parts)}
