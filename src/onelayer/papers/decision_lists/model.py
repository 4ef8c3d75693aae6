"""f_{W,V}(X) = softmax(V X softmax(X^T W X)) on one-hot tokens, its loss and gradients (eq. 1, 2).

W[b, a] is the score that query a gives key b. Attention of query a is p_b proportional to
exp(W[b, a]) over the tokens present, the logits are V p. With V = cP the permutation drops out:
the present token b has the logit c p_b at its own image pi(b), every absent token has 0.

Shapes: R runs (any leading dimensions, or none), S sequences of n tokens, Q = S n queries.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from onelayer.compute.device import to_device
from onelayer.papers.decision_lists.data import PADDING, DecisionLists, Sequences


@dataclass(frozen=True, eq=False)
class SequenceBatch:
    """Sequences as the gradient for W with V = cP needs them."""

    pairs: Tensor  # int64 [S, n, n], flat index of W[key, query] for [s, query place, key place]
    target: Tensor  # int64 [S, n, 1], place of the label-determining token b*
    weight: Tensor  # float64 [S, 1, 1], probability of the sequence divided by n
    vocabulary: int  # L


@dataclass(frozen=True, eq=False)
class QueryRows:
    """Queries as the gradient for (W, V) needs them, one row per (sequence, query)."""

    query: Tensor  # int64 [Q], the token that asks
    absent: Tensor  # float64 [Q, L], 0 for a present token and -inf for an absent one
    label: Tensor  # int64 [Q, 1], pi(b*)
    weight: Tensor  # float64 [Q, 1], probability of the sequence divided by n; sums to 1


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Loss, accuracy and gradients at one (W, V) of every run."""

    loss: Tensor  # [R], eq. (2) over the batch
    accuracy: Tensor  # [R], probability that the label's logit exceeds every other strictly
    W: Tensor  # [R, L, L], the gradient
    V: Tensor  # [R, L, L], the gradient


def batch_of(lists: DecisionLists, sequences: Sequences) -> SequenceBatch:
    """Index the sequences for `loss_w` and `gradient_w`."""
    tokens, L = sequences.tokens, lists.vocabulary
    pairs = tokens[:, None, :] * L + tokens[:, :, None]
    target = lists.determining_places(tokens)[:, :, None]
    weight = (sequences.probability / tokens.shape[1])[:, None, None]
    return SequenceBatch(*map(torch.from_numpy, (pairs, target, weight)), L)


def rows_of(lists: DecisionLists, sequences: Sequences) -> QueryRows:
    """Lay the sequences out for `evaluate`."""
    tokens = sequences.tokens
    count, n = tokens.shape
    target = np.take_along_axis(tokens, lists.determining_places(tokens), axis=1)  # [S, n]
    absent = np.full((count, lists.vocabulary), -np.inf)
    np.put_along_axis(absent, tokens, 0.0, axis=1)
    return QueryRows(
        query=torch.from_numpy(tokens.reshape(-1)),
        absent=torch.from_numpy(absent.repeat(n, axis=0)),
        label=torch.from_numpy(lists.permutation[target].reshape(-1, 1)),
        weight=torch.from_numpy((sequences.probability / n).repeat(n)[:, None]),
    )


def attention(W: Tensor, batch: SequenceBatch) -> Tensor:
    """Attention p of every query, [S, query, key]."""
    return W.reshape(-1)[batch.pairs].softmax(dim=2)


def loss_w(W: Tensor, c: float, batch: SequenceBatch) -> Tensor:
    """Eq. (2) over the batch with V = cP, a scalar: -log softmax(c p)[b*] over all L outputs."""
    logits = c * attention(W, batch)
    _, total, top = _exponentials(logits, batch.vocabulary)
    return (batch.weight * (total.log() + top - logits.gather(2, batch.target))).sum()


def gradient_w(W: Tensor, c: float, batch: SequenceBatch) -> Tensor:
    """Gradient of `loss_w`, [L, L].

    d loss/dW[b, a] = c p_b [(f_b - y_b) - sum_k p_k (f_k - y_k)] for every query a and key b
    present. Repeated sums on CUDA differ in the last digits from call to call.
    """
    p = attention(W, batch)
    exponentials, total, _ = _exponentials(c * p, batch.vocabulary)
    residual = exponentials / total
    residual.scatter_add_(2, batch.target, -torch.ones_like(p[:, :, :1]))
    centred = residual - (p * residual).sum(dim=2, keepdim=True)
    gradient = torch.zeros(W.numel(), dtype=W.dtype, device=W.device)
    gradient.index_add_(0, batch.pairs.reshape(-1), (c * batch.weight * p * centred).reshape(-1))
    return gradient.view_as(W)


def margins(W: Tensor, batch: SequenceBatch) -> Tensor:
    """W[b*, a] minus the largest other score of the sequence, [S, n]; inf for n = 1.

    Positive exactly where p_b* exceeds every other p, that is where V = cP is strictly right.
    """
    scores = W.reshape(-1)[batch.pairs]
    others = scores.scatter(2, batch.target, -torch.inf).amax(dim=2)
    return scores.gather(2, batch.target).squeeze(2) - others


def strict_accuracy(W: Tensor, batch: SequenceBatch) -> Tensor:
    """Probability, over sequences and positions, that p_b* exceeds every other p; a scalar.

    Ties are wrong. With V = cP this is the accuracy of the label too: the logits are c p and 0.
    """
    right = (margins(W, batch) > 0).to(batch.weight.dtype)
    return (right * batch.weight.squeeze(2)).sum()


def _exponentials(logits: Tensor, L: int) -> tuple[Tensor, Tensor, Tensor]:
    """exp(logits - top), their sum with the L - n absent tokens' logit 0, and top."""
    top = logits.amax(dim=2, keepdim=True)
    exponentials = (logits - top).exp()
    absent = L - logits.shape[2]
    return exponentials, exponentials.sum(dim=2, keepdim=True) + absent * (-top).exp(), top


def row_logits(W: Tensor, V: Tensor, rows: QueryRows) -> tuple[Tensor, Tensor]:
    """Attention p [R, Q, L] (0 for absent tokens) and logits V p [R, Q, L] of every query."""
    scores = W.transpose(-1, -2).index_select(-2, rows.query) + rows.absent
    p = scores.softmax(dim=-1)
    return p, p @ V.transpose(-1, -2)


def loss(W: Tensor, V: Tensor, rows: QueryRows) -> Tensor:
    """Eq. (2) over the rows for any V, [R]; differentiable twice."""
    _, logits = row_logits(W, V, rows)
    label = rows.label.expand(*logits.shape[:-1], 1)
    surprise = logits.logsumexp(dim=-1, keepdim=True) - logits.gather(-1, label)
    return (rows.weight * surprise).sum(dim=(-1, -2))


def evaluate(W: Tensor, V: Tensor, rows: QueryRows) -> Evaluation:
    """Loss, label accuracy and closed-form gradients for (W, V), all in one pass.

    With r = f - y: d loss/dV = r p^T, d loss/dp = V^T r, and d loss/dW[b, a] =
    p_b (dp_b - sum_k p_k dp_k).
    """
    p, logits = row_logits(W, V, rows)
    label = rows.label.expand(*logits.shape[:-1], 1)
    of_label = logits.gather(-1, label)
    others = logits.scatter(-1, label, -torch.inf).amax(dim=-1, keepdim=True)
    total = logits.logsumexp(dim=-1, keepdim=True)
    residual = (logits - total).exp_()
    residual.scatter_add_(-1, label, -torch.ones_like(of_label))
    residual *= rows.weight
    of_p = residual @ V
    of_scores = p * (of_p - (p * of_p).sum(dim=-1, keepdim=True))
    transposed = torch.zeros_like(W).index_add_(-2, rows.query, of_scores)
    return Evaluation(
        loss=(rows.weight * (total - of_label)).sum(dim=(-1, -2)),
        accuracy=(rows.weight * (of_label > others)).sum(dim=(-1, -2)),
        W=transposed.transpose(-1, -2),
        V=residual.transpose(-1, -2) @ p,
    )


class Columns:
    """What column a of W, float64 [L, L], must be for every query a: in the order of its list."""

    def __init__(self, lists: DecisionLists, device: str = "cpu") -> None:
        every = np.arange(lists.vocabulary)[:, None]
        # places of the list in the flattened W, its padding repeating the own token
        padded = np.where(lists.lists == PADDING, every, lists.lists)
        self._places = to_device(padded * lists.vocabulary + every, device)
        self._padding = to_device(lists.lists[:, 1:] == PADDING, device)
        self._inside = to_device(lists.rank < lists.lists.shape[1], device)

    def _steps(self, W: Tensor) -> Tensor:
        """W[a_k, a] - W[a_{k+1}, a], float64 [L, M - 1], inf beyond the list."""
        scores = W.reshape(-1)[self._places]
        return (scores[:, :-1] - scores[:, 1:]).masked_fill(self._padding, torch.inf)

    def margins(self, W: Tensor) -> Tensor:
        """Smallest step of W[a_1, a] > ... > W[a_m, a] > max over other tokens, float64 [L].

        Where all are positive, every sequence of distinct tokens is proven to be classified
        strictly right (V = cP).
        """
        outside = W.masked_fill(self._inside, -torch.inf).amax(dim=0)
        last = (W.diagonal() - outside)[:, None]  # a_m = a
        return torch.cat([self._steps(W), last], dim=1).amin(dim=1)

    def order(self, W: Tensor) -> Tensor:
        """Share of adjacent list pairs with W[a_k, a] > W[a_{k+1}, a]; 1 if no list has a pair."""
        pairs = ~self._padding
        right = ((self._steps(W) > 0) & pairs).sum()
        return torch.where(pairs.any(), right / pairs.sum().clamp_min(1).double(), 1.0)
