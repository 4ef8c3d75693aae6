"""f_{W,V}(X) = softmax(V X softmax(X^T W X)) on one-hot tokens, its loss and gradients (eq. 1, 2).

W[b, a] is the score that query a gives key b. Attention of query a is p_b proportional to
exp(W[b, a]) over the tokens present, the logits are V p. With V = cP the permutation drops out:
the present token b has the logit c p_b at its own image pi(b), every absent token has 0.

Shapes: S sequences of n tokens over L, Q = S n queries.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from onelayer.decision_lists.data import PADDING, DecisionLists, Sequences

ROWS = 8192  # queries that are evaluated at once


class Queries(NamedTuple):
    """One row per (sequence, query)."""

    query: Tensor  # int64 [Q], the token that asks
    absent: Tensor  # float64 [Q, L], 0 for a present token and -inf for an absent one
    label: Tensor  # int64 [Q, 1], pi(b*)
    weight: Tensor  # float64 [Q, 1], probability of the sequence divided by n; sums to 1

    def split(self) -> list["Queries"]:
        """Rows in groups that a processor's cache holds: twice as fast."""
        columns = (column.split(ROWS) for column in self)
        return [Queries(*rows) for rows in zip(*columns, strict=True)]


def queries_of(lists: DecisionLists, sequences: Sequences) -> Queries:
    """Lay sequences out for `evaluate`."""
    tokens = sequences.tokens
    count, n = tokens.shape
    target = np.take_along_axis(tokens, lists.determining_places(tokens), axis=1)  # [S, n]
    absent = np.full((count, len(lists.permutation)), -np.inf)
    np.put_along_axis(absent, tokens, 0.0, axis=1)
    return Queries(
        query=torch.from_numpy(tokens.reshape(-1)),
        absent=torch.from_numpy(absent.repeat(n, axis=0)),
        label=torch.from_numpy(lists.permutation[target].reshape(-1, 1)),
        weight=torch.from_numpy((sequences.probability / n).repeat(n)[:, None]),
    )


def forward(W: Tensor, V: Tensor, queries: Queries) -> tuple[Tensor, Tensor]:
    """Attention p [Q, L] (0 for absent tokens) and logits V p [Q, L] of every query."""
    p = (W.T.index_select(0, queries.query) + queries.absent).softmax(dim=1)
    return p, p @ V.T


class Evaluation(NamedTuple):
    """Loss, accuracy and gradients at one (W, V)."""

    loss: float  # eq. (2)
    accuracy: float  # probability that the label's logit exceeds every other strictly
    grad_W: Tensor  # [L, L]
    grad_V: Tensor  # [L, L]


def evaluate(W: Tensor, V: Tensor, queries: Queries) -> Evaluation:
    """Loss, label accuracy and closed-form gradients for (W, V), all in one pass.

    With r = f - y: d loss/dV = r p^T, d loss/dp = V^T r, and d loss/dW[b, a] =
    p_b (dp_b - sum_k p_k dp_k).
    """
    parts = []
    for rows in queries.split():
        p, logits = forward(W, V, rows)
        of_label = logits.gather(1, rows.label)
        others = logits.scatter(1, rows.label, -torch.inf).amax(dim=1, keepdim=True)
        total = logits.logsumexp(dim=1, keepdim=True)
        residual = (logits - total).exp_()
        residual.scatter_add_(1, rows.label, -torch.ones_like(of_label))
        residual *= rows.weight
        of_p = residual @ V
        of_scores = p * (of_p - (p * of_p).sum(dim=1, keepdim=True))
        gradient = torch.zeros_like(W).index_add_(0, rows.query, of_scores).T
        loss = float((rows.weight * (total - of_label)).sum())
        accuracy = float((rows.weight * (of_label > others)).sum())
        parts.append((loss, accuracy, gradient, residual.T @ p))
    return Evaluation(*map(sum, zip(*parts, strict=True)))


def hessian(W: Tensor, V: Tensor, queries: Queries) -> Callable[[np.ndarray], np.ndarray]:
    """The Hessian of the loss in (W, V) at one point, as its product with a vector [2 L^2]."""
    point, graphs = [W.clone().requires_grad_(), V.clone().requires_grad_()], []
    for rows in queries.split():
        _, logits = forward(*point, rows)
        surprise = logits.logsumexp(dim=1, keepdim=True) - logits.gather(1, rows.label)
        loss = (rows.weight * surprise).sum()
        graphs.append(torch.autograd.grad(loss, point, create_graph=True))

    def product(vector: np.ndarray) -> np.ndarray:
        along = tuple(torch.from_numpy(vector.reshape(2, *W.shape)))
        parts = [torch.autograd.grad(of, point, along, retain_graph=True) for of in graphs]
        return sum(map(torch.stack, parts)).numpy().ravel()

    return product


def list_steps(lists: DecisionLists, W: np.ndarray) -> np.ndarray:
    """W[a_k, a] - W[a_{k+1}, a], and W[a, a] less the largest of other tokens, last of a's list.

    Float64 [L, M] for W [L, L], inf beyond a list. Where all steps of query a are positive, every
    sequence of distinct tokens is proven to be classified strictly right at it (V = cP).
    """
    query = np.arange(len(W))
    scores = W[lists.lists, query[:, None]]
    below = np.roll(scores, -1, axis=1)
    inside = lists.rank < lists.lists.shape[1]
    below[query, lists.lengths - 1] = np.where(inside, -np.inf, W).max(axis=0)
    return np.where(lists.lists == PADDING, np.inf, scores - below)


def list_order(lists: DecisionLists, W: np.ndarray) -> float:
    """Share of adjacent list pairs with W[a_k, a] > W[a_{k+1}, a]; 1 if no list has a pair."""
    right = (list_steps(lists, W)[:, :-1] > 0)[lists.lists[:, 1:] != PADDING]
    return float(right.mean()) if len(right) else 1.0
