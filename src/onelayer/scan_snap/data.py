"""The synthetic next-token task: sequence classes of common and distinct tokens (Figs. 4, 6).

A sequence is contextual tokens, then a query token m; its target is a next token n. A sequence
class is a pair (m, n). Contextual tokens are drawn independently from P(l | class) over 20 tokens:
10 common to all classes, 10 distinct to this one. The model has no positions, so only the counts
of the 20 tokens matter, and no sequence is ever written out.
"""

import functools
from dataclasses import dataclass

import numpy as np

from onelayer.seeds import generator

COMMON = DISTINCT = 10
SLOTS = COMMON + DISTINCT  # tokens of a class: slots 0-9 common, 10-19 distinct
# P(l | class) by slot; distinct tokens from rare to frequent.
TOKEN_CHANCES = np.concatenate([np.ones(COMMON), np.linspace(0.1, 1, DISTINCT)])
TOKEN_CHANCES /= TOKEN_CHANCES.sum()


@dataclass(frozen=True)
class Task:
    """Sizes; the vocabulary is common tokens, distinct ones class by class, query, next tokens."""

    num_last: int  # query tokens
    next_per_last: int  # next tokens, and so classes, of each query token
    length: int = 128  # tokens in a sequence, the query token included (L)
    batch: int = 128  # sequences in a batch

    @property
    def classes(self) -> int:
        """F; class f has query token f // next_per_last."""
        return self.num_last * self.next_per_last

    @property
    def contextual(self) -> int:
        """Contextual tokens, the first ids of the vocabulary."""
        return COMMON + DISTINCT * self.classes

    @property
    def vocabulary(self) -> int:
        """Tokens in all, M."""
        return self.contextual + self.num_last + self.classes


@functools.lru_cache(maxsize=1000)  # ensembles that train one after the other share a seed's
def draw_counts(task: Task, seed: int, step: int) -> tuple[np.ndarray, np.ndarray]:
    """A step's batch: counts of the tokens of a class, [batch, SLOTS], and ascending classes."""
    rng = generator("scan and snap batch", task, seed, step)
    classes = np.sort(rng.integers(task.classes, size=task.batch))
    # Chances by slot are the same in every class: which counts go to which class is arbitrary.
    return rng.multinomial(task.length - 1, TOKEN_CHANCES, size=task.batch), classes
