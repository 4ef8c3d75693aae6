"""The synthetic next-token task: sequence classes made of common and distinct tokens (Figs. 4, 6).

A sequence is contextual tokens, then a query token m; its target is a next token n. A sequence
class is a pair (m, n). Contextual tokens are drawn independently from P(l | class), which knows 20
tokens: 10 common to all classes, 10 distinct to the class. The model has no positions, so only the
counts of the 20 tokens matter, and no sequence is ever written out.
"""

import functools
from dataclasses import dataclass

import numpy as np

from onelayer.compute.seeds import generator

COMMON = 10  # tokens that occur in all classes
DISTINCT = 10  # tokens that occur in one class alone
SLOTS = COMMON + DISTINCT  # tokens a class knows: slots 0-9 common, 10-19 distinct
# P(l | class) by slot: distinct tokens from rare to frequent.
TOKEN_CHANCES = np.concatenate([np.ones(COMMON), np.linspace(0.1, 1, DISTINCT)])
TOKEN_CHANCES /= TOKEN_CHANCES.sum()


@dataclass(frozen=True)
class Task:
    """Sizes of the task; M tokens: common, distinct class by class, query tokens, next tokens.

    Attributes:
        num_last: query tokens.
        next_per_last: next tokens, and so sequence classes, of each query token.
        length: tokens in a sequence, the query token included (L).
        batch: sequences in a batch.
    """

    num_last: int
    next_per_last: int
    length: int = 128
    batch: int = 128

    @property
    def classes(self) -> int:
        """Sequence classes F; class f has query token f // next_per_last."""
        return self.num_last * self.next_per_last

    @property
    def contextual(self) -> int:
        """Contextual tokens, the first ids of the vocabulary."""
        return COMMON + DISTINCT * self.classes

    @property
    def vocabulary(self) -> int:
        """Tokens in all, M."""
        return self.contextual + self.num_last + self.classes

    @property
    def first_next(self) -> int:
        """Id of the next token of class 0; class f has this plus f."""
        return self.contextual + self.num_last


@dataclass(frozen=True, eq=False)
class Counts:
    """A batch as the model needs it, sequences sorted by class.

    Attributes:
        counts: uint8 or int64 [batch, SLOTS], how often each token of its class occurs.
        bounds: int64 [F + 1], class f holds sequences bounds[f] to bounds[f + 1].
    """

    counts: np.ndarray
    bounds: np.ndarray

    @property
    def classes(self) -> np.ndarray:
        """The class of each sequence, int64 [batch]."""
        return np.repeat(np.arange(len(self.bounds) - 1), np.diff(self.bounds))


@functools.lru_cache(maxsize=20_000)
def draw_counts(task: Task, seed: int, step: int) -> Counts:
    """The batch of one step: uniform classes, multinomial counts; the same on every call.

    Runs that differ in learning rates alone share it (common random numbers), so that it is kept.
    """
    rng = generator("scan and snap batch", task, seed, step)
    sizes = np.bincount(rng.integers(task.classes, size=task.batch), minlength=task.classes)
    counts = rng.multinomial(task.length - 1, TOKEN_CHANCES, size=task.batch)
    # Every class has the same chances by slot, so which counts go to which class is arbitrary.
    kept = counts.astype(np.uint8 if task.length <= 256 else np.int64)
    return Counts(kept, np.concatenate([[0], np.cumsum(sizes)]))
