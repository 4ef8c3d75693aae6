"""Initial parameters and batches of the synthetic experiments, as `onelayer.ensemble` takes them.

Each run has a seed: it decides the initial parameters and the order of documents. Runs with equal
seeds see the same documents in the same order.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from onelayer.ensemble import RunRandom
from onelayer.papers.topic_structure.synthetic.data import Rows
from onelayer.papers.topic_structure.synthetic.model import Batch, Embedding, shapes
from onelayer.seeds import generator


def initial_parameters(
    random: RunRandom,
    embedding: Embedding,
    D: int,
    noise: Sequence[float] | None = None,
    dtype: torch.dtype = torch.float32,
) -> dict[str, Tensor]:
    """Initial values of all parameters, [runs, ...].

    Args:
        random: draws that depend on each run's seed.
        embedding: which model.
        D: ids.
        noise: width of near-zero matrices, one per run: uniform in [0, noise) with biases at 0, as
            the authors' code starts its two-stage runs. None: PyTorch's default for a linear
            layer, uniform in +-1/sqrt(D), biases too; W_E is standard normal / sqrt(D).
        dtype: of the tensors.

    A token-type vector is standard normal, as an `nn.Embedding` starts in the authors' code.
    """
    found = {}
    for name, shape in shapes(embedding, D).items():
        uniform = random.uniform(*shape, use=f"initial {name}", dtype=dtype)
        if name in ("b", "shift"):
            value = torch.zeros_like(uniform)
        elif name == "gain":
            value = torch.ones_like(uniform)
        elif name == "token_type":
            value = random.normal(*shape, use="initial token_type", dtype=dtype)
        elif noise is None:
            value = (
                random.normal(*shape, use="initial W_E", dtype=dtype) * D**-0.5
                if name == "W_E"
                else (2 * uniform - 1) * D**-0.5
            )
        elif name.startswith("b_"):
            value = torch.zeros_like(uniform)
        else:
            width = torch.tensor(noise, dtype=dtype, device=uniform.device)
            value = uniform * width.reshape(-1, *[1] * len(shape))
        found[name] = value
    return found


class Batches:
    """Draws the documents of every step, epoch by epoch without replacement, per seed.

    Args:
        rows: masked documents.
        seeds: one per run.
        documents: documents in a batch.
        device: where batches go.
        dtype: of the tensors.

    Raises:
        ValueError: a batch of no documents, or of more than there are.
    """

    def __init__(
        self,
        rows: Rows,
        seeds: Sequence[int],
        documents: int,
        device: str = "cpu",
        dtype: torch.dtype = torch.float32,
    ) -> None:
        if not 1 <= documents <= len(rows.keys):
            raise ValueError(
                f"batch = {documents}: between 1 and the {len(rows.keys)} documents there are"
            )
        self.rows, self.documents = rows, documents
        self.seeds, group = np.unique(np.asarray(seeds), return_inverse=True)
        self.group = torch.from_numpy(group).to(device)
        self.log_keys = torch.from_numpy(rows.keys).to(device, dtype).log()
        self.query = torch.from_numpy(rows.query).to(device)
        self.targets = torch.from_numpy(rows.targets).to(device, dtype)
        self.document = torch.from_numpy(rows.document).to(device)
        self.device = device
        self._order = lru_cache(maxsize=2 * len(self.seeds))(self._shuffle)

    def _shuffle(self, seed: int, epoch: int) -> np.ndarray:
        return generator("order of documents", seed, epoch).permutation(len(self.rows.keys))

    def drawn(self, seed: int, step: int) -> np.ndarray:
        """Documents of one seed's step, int64 [documents]."""
        epoch, place = divmod(step, len(self.rows.keys) // self.documents)
        first = place * self.documents
        return self._order(int(seed), epoch)[first : first + self.documents]

    def __call__(self, step: int) -> Batch:
        """The batch of a step."""
        chosen = [self._rows_of(self.drawn(seed, step)) for seed in self.seeds]
        longest = max(len(index) for index in chosen)
        index = np.zeros((len(chosen), longest), dtype=np.int64)
        real = np.zeros((len(chosen), longest, 1), dtype=np.float32)
        for place, rows in enumerate(chosen):
            index[place, : len(rows)], real[place, : len(rows)] = rows, 1
        index = torch.from_numpy(index).to(self.device)
        # A padding row is some row without targets.
        targets = self.targets[index]
        if len(chosen) > 1:
            targets *= torch.from_numpy(real).to(self.device)
        return Batch(self.log_keys[self.document[index]], self.query[index], targets, self.group)

    def _rows_of(self, documents: np.ndarray) -> np.ndarray:
        first = self.rows.first[documents]
        count = self.rows.first[documents + 1] - first
        start = np.repeat(first - (count.cumsum() - count), count)
        return start + np.arange(len(start))
