"""Fresh sequences for every step, drawn on the device that trains on them."""

import numpy as np
import torch
from torch import Tensor

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
        self.rank = torch.from_numpy(lists.rank).to(device)
        self.chance = None
        if weights is not None:
            self.chance = torch.from_numpy(inclusion_chances(weights, n)).to(device)
        self.weight = torch.full((batch, 1, 1), 1 / (batch * n), dtype=torch.float64, device=device)
        # places of the list in the flattened W, its padding repeating the own token
        padded = np.where(lists.lists < 0, np.arange(self.L)[:, None], lists.lists)
        self.places = torch.from_numpy(padded * self.L + np.arange(self.L)[:, None]).to(device)
        self.padding = torch.from_numpy(lists.lists[:, 1:] < 0).to(device)
        self.outside = self.rank == lists.lists.shape[1]

    def tokens(self) -> Tensor:
        """Sequences of distinct tokens, int64 [batch, n]."""
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

    def draw(self) -> Batch:
        """A fresh batch."""
        tokens = self.tokens()
        key, query = tokens[:, None, :], tokens[:, :, None]
        target = self.rank[key, query].argmin(dim=2, keepdim=True)
        return Batch(key * self.L + query, target, self.weight, self.L)

    def column_margins(self, W: Tensor) -> np.ndarray:
        """`model.certificate_margins`, computed on the device, float64 [L]."""
        scores = W.reshape(-1)[self.places]
        steps = (scores[:, :-1] - scores[:, 1:]).masked_fill(self.padding, torch.inf)
        outside = W.masked_fill(~self.outside, -torch.inf).amax(dim=0)
        smallest = W.diagonal() - outside
        if steps.shape[1]:
            smallest = torch.minimum(smallest, steps.amin(dim=1))
        return smallest.cpu().numpy()
