"""Fresh sequences for every step, drawn on the device that trains on them."""

import numpy as np
import torch
from torch import Tensor

from onelayer.compute.device import on_gpu, to_device
from onelayer.papers.decision_lists.data import DecisionLists, inclusion_chances
from onelayer.papers.decision_lists.model import Batch
from onelayer.settings.decision_list_sizes import check_positive, check_sizes


class Sampler:
    """Draws batches of sequences on a device.

    Args:
        rng: seeds the device's own generator.
        lists: the task.
        n: tokens in a sequence.
        batch: sequences per draw.
        weights: float64 [L] of the tokens, or None for uniform.
        device: where the sequences are drawn and stay.

    Raises:
        ValueError: bad sizes or batch < 1.
    """

    def __init__(
        self,
        rng: np.random.Generator,
        lists: DecisionLists,
        n: int,
        batch: int,
        weights: np.ndarray | None = None,
        device: str = "cpu",
    ) -> None:
        check_sizes(lists.vocabulary, n, lists.lists.shape[1])
        check_positive("batch", batch)
        self.lists, self.n, self.batch, self.device = lists, n, batch, device
        self.L = lists.vocabulary
        self.generator = torch.Generator(device).manual_seed(int(rng.integers(2**31)))
        self.rank = to_device(lists.rank, device)
        self.chance = None
        if weights is not None:
            self.chance = to_device(inclusion_chances(weights, n), device)
        self.weight = torch.full((batch, 1, 1), 1 / (batch * n), dtype=torch.float64, device=device)
        # places of the list in the flattened W, its padding repeating the own token
        padded = np.where(lists.lists < 0, np.arange(self.L)[:, None], lists.lists)
        self.places = to_device(padded * self.L + np.arange(self.L)[:, None], device)
        self.padding = to_device(lists.lists[:, 1:] < 0, device)
        self.outside = self.rank == lists.lists.shape[1]

    def tokens(self) -> Tensor:
        """Sequences of distinct tokens, int64 [batch, n]."""
        if on_gpu(self.device):
            return self._unwatched_draws() if self.chance is None else self._unwatched_coins()
        if self.chance is None and self.n**2 <= self.L:
            return self._distinct_draws()
        if self.chance is None:
            keys = torch.rand(self.batch, self.L, generator=self.generator, device=self.device)
            return keys.topk(self.n, dim=1).indices
        needed = torch.full((self.batch,), self.n, device=self.device)
        taken = torch.empty(self.L, self.batch, dtype=torch.bool, device=self.device)
        for token in range(self.L):
            coin = torch.rand(
                self.batch, generator=self.generator, device=self.device, dtype=torch.float64
            )
            torch.lt(coin, self.chance[token][needed], out=taken[token])
            needed -= taken[token].long()
        return taken.T.nonzero()[:, 1].reshape(self.batch, self.n)

    def _distinct_draws(self) -> Tensor:
        """Uniform tokens, drawn again where one repeats: cheaper than a key for every token."""
        options = {"generator": self.generator, "device": self.device}
        tokens = torch.randint(self.L, (self.batch, self.n), **options)
        while True:
            ascending = tokens.sort(dim=1).values
            repeats = (ascending[:, 1:] == ascending[:, :-1]).any(dim=1)
            if not (again := int(repeats.sum())):
                return tokens
            tokens[repeats] = torch.randint(self.L, (again, self.n), **options)

    def _unwatched_draws(self) -> Tensor:
        """Uniform subsets of which the host reads nothing, by Floyd's algorithm.

        Bentley & Floyd (1987), 'A sample of brilliance': token j is uniform among the first L - n +
        j + 1, or the last of these where it repeats one.
        """
        tokens = torch.empty(self.batch, self.n, dtype=torch.int64, device=self.device)
        options = {"generator": self.generator, "device": self.device}
        for place, last in enumerate(range(self.L - self.n, self.L)):
            drawn = torch.randint(last + 1, (self.batch,), **options)
            repeats = (tokens[:, :place] == drawn[:, None]).any(dim=1)
            tokens[:, place] = torch.where(repeats, last, drawn)
        return tokens

    def _unwatched_coins(self) -> Tensor:
        """Weighted subsets of which the host reads nothing."""
        options = {"generator": self.generator, "device": self.device, "dtype": torch.float64}
        coins = torch.rand(self.L, self.batch, **options)
        needed = torch.full((self.batch,), self.n, device=self.device)
        taken = torch.empty(self.L, self.batch, dtype=torch.bool, device=self.device)
        for token in range(self.L):
            torch.lt(coins[token], self.chance[token].index_select(0, needed), out=taken[token])
            needed -= taken[token].long()
        # Exactly n are taken: they come first, in order.
        return taken.T.long().argsort(dim=1, descending=True, stable=True)[:, : self.n]

    def draw(self) -> Batch:
        """A fresh batch."""
        tokens = self.tokens()
        key, query = tokens[:, None, :], tokens[:, :, None]
        target = self.rank[key, query].argmin(dim=2, keepdim=True)
        return Batch(key * self.L + query, target, self.weight, self.L)

    def column_margins(self, W: Tensor) -> np.ndarray:
        """`model.certificate_margins`, computed on the device, float64 [L]."""
        return self.margins(W).cpu().numpy()

    def order(self, W: Tensor) -> Tensor:
        """`model.order`, computed on the device, a scalar."""
        pairs = ~self.padding
        right = ((self._list_steps(W) > 0) & pairs).sum()
        return torch.where(pairs.any(), right / pairs.sum().clamp_min(1).double(), 1.0)

    def _list_steps(self, W: Tensor) -> Tensor:
        """Differences of adjacent scores of the lists, float64 [L, M - 1]; inf beyond a list."""
        scores = W.reshape(-1)[self.places]
        return (scores[:, :-1] - scores[:, 1:]).masked_fill(self.padding, torch.inf)

    def margins(self, W: Tensor) -> Tensor:
        """`column_margins`, left on the device."""
        steps = self._list_steps(W)
        outside = W.masked_fill(~self.outside, -torch.inf).amax(dim=0)
        smallest = W.diagonal() - outside
        if steps.shape[1]:
            smallest = torch.minimum(smallest, steps.amin(dim=1))
        return smallest
