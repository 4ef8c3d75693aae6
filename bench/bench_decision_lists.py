"""Times the flows and trainings of decision lists; there is no authors' code.

The authors' way is the paper's equations as they stand: all of W, all sequences, one-hot tokens.
"""

from collections.abc import Callable, Iterator
from math import comb

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from bench.case import Case, Numbers, Way, Work
from onelayer.compute.seeds import generator
from onelayer.papers.decision_lists import attention, joint, reduced
from onelayer.papers.decision_lists.attention import AttentionRun
from onelayer.papers.decision_lists.constants import theorem_1_scale
from onelayer.papers.decision_lists.data import enumerate_sequences, lists_of_seed
from onelayer.papers.decision_lists.full import Sampler
from onelayer.papers.decision_lists.model import rows_of
from onelayer.papers.decision_lists.reduced import STEP, Setting
from onelayer.settings.decision_lists import DescentRun, FullRun


def cases(small: bool = False) -> Iterator[Case]:
    """The reduced flow of many settings and of one, the full flow, descent, and joint training."""
    if small:
        yield _reduced_grid([Setting(8, 3, m, d) for m in (2, 3) for d in (1.0, 2.0)], every=2)
        yield _full_flow(FullRun(L=7, n=3, m=2, method="full", max_steps=5))
        yield _descent(DescentRun(L=8, n=3, m=2, method="descent", batch=16, max_steps=4))
        yield _joint(L=6, n=3, m=2, runs=2, steps=4)
        return
    grid = [
        Setting(L, n, m, delta)
        for L in (16, 32, 64)
        for n in (4, 8, 16)
        for m in (2, 3, 4)
        for delta in (0.5, 1.0, 2.0)
    ]
    yield _reduced_grid(grid, every=9)
    yield _full_flow(FullRun(L=16, n=4, m=3, method="full", record_every=100, max_steps=60))
    yield _descent(
        DescentRun(L=64, n=8, m=3, method="descent", batch=256, record_every=100, max_steps=200)
    )
    yield _joint(L=16, n=4, m=3, runs=8, steps=20)


def _reduced_grid(settings: list[Setting], every: int) -> Case:
    flow = reduced.solve(settings)
    chosen = np.arange(0, len(settings), every)
    largest = max(settings, key=lambda setting: comb(setting.L, setting.n))
    return Case(
        name=f"decision lists, reduced flow of {len(settings)} settings",
        steps=("solve_decision_lists", "search_worst_case"),
        ours=Way("ours", lambda: {"t*": reduced.solve(settings).t_star}),
        simple=Way(
            "numpy, one setting at a time",
            lambda: {"t*": [_simple_reduced(settings[place]) for place in chosen]},
            of=lambda ours: {"t*": ours["t*"][chosen]},
            share=flow.steps[chosen].sum() / flow.steps.sum(),
        ),
        authors=f"comb({largest.L}, {largest.n}) sequences cannot be listed",
        count_work=lambda: _reduced_work(settings, flow.steps),
    )


def _simple_reduced(setting: Setting) -> float:
    """Time of perfect classification: Heun's method on the scores of list places and the rest."""
    L, n, m, c = setting.L, setting.n, setting.m, setting.c
    listed = (np.arange(2 ** (m - 1))[:, None] >> np.arange(m - 1)) & 1
    outside = n - 1 - listed.sum(axis=1)
    ways = np.array([comb(L - m, k) if k >= 0 else 0 for k in outside]) / comb(L - 1, n - 1)
    listed, outside, ways = listed[ways > 0], outside[ways > 0], ways[ways > 0]
    count = np.column_stack([listed, np.ones(len(ways)), outside])  # [patterns, slots]
    present, target = count > 0, (count > 0).argmax(axis=1)
    each = np.arange(len(ways))
    gain = (c * ways / L)[:, None] * count / np.array([1] * m + [max(L - m, 1)])
    beats = np.zeros((m + 1, m + 1), dtype=bool)
    for pattern, winner in zip(present, target, strict=True):
        beats[winner] |= pattern
    np.fill_diagonal(beats, False)

    def rate(scores: np.ndarray) -> np.ndarray:
        p = present * np.exp(scores)
        p /= (count * np.exp(scores)).sum(axis=1, keepdims=True)
        top = c * p.max(axis=1, keepdims=True)
        f = np.exp(c * p - top)
        f /= (count * f).sum(axis=1, keepdims=True) + (L - n) * np.exp(-top)
        f[each, target] -= 1
        pulls = p * f
        return -(gain * (pulls - p * (count * pulls).sum(axis=1, keepdims=True))).sum(axis=0)

    def margins(scores: np.ndarray) -> np.ndarray:
        return np.where(beats, scores[:, None] - scores, np.inf).min(axis=1)

    h, scores, steps = STEP * n / c, np.zeros(m + 1), 0
    above, crossing = margins(scores), np.zeros(m + 1)
    while (above <= 0).any():
        first = rate(scores)
        scores = scores + 0.5 * h * (first + rate(scores + h * first))
        before, above = above, margins(scores)
        rose = (above > 0) & (before <= 0)
        crossing[rose] = h * (steps - before[rose] / (above[rose] - before[rose]))
        steps += 1
    return crossing.max()


def _reduced_work(settings: list[Setting], steps: np.ndarray) -> Work:
    cells = sum((s.m + 1) * 2 ** (s.m - 1) * own for s, own in zip(settings, steps, strict=True))
    return Work(
        flops=2 * 14 * cells,
        bytes=0,
        rate="numpy float64",
        formula="two rates a Heun step; for each slot of each presence pattern 14 flops, an exp "
        "counted as one: no code does these as fast as a matrix product",
    )


def _full_flow(block: FullRun) -> Case:
    run = AttentionRun(block, seed=0)
    sequences = comb(block.L, block.n)
    return Case(
        name=f"decision lists, full flow, L {block.L}, n {block.n}, {block.max_steps} steps",
        steps=("train_decision_list_attention",),
        ours=Way("ours", lambda: {"W": attention.train(run).W}),
        simple=Way("scores gathered, autograd", lambda: _autograd_flow(run, _gathered_loss)),
        authors=Way(
            "eq. (1) on one-hot tokens, autograd", lambda: _autograd_flow(run, _one_hot_loss)
        ),
        count_work=lambda: Work(
            flops=block.max_steps * 2 * 20 * sequences * block.n**2,
            bytes=block.max_steps * 2 * 8 * sequences * block.n**2,
            rate="torch float64",
            formula="two gradients a Heun step; for each query and key of each sequence 20 flops, "
            "an exp counted as one, and its index (8 bytes)",
        ),
    )


Loss = Callable[[Tensor, float, Tensor, Tensor, int], Tensor]


def _gathered_loss(W: Tensor, c: float, tokens: Tensor, target: Tensor, L: int) -> Tensor:
    """Surprise of the label of every query, [S, n], with V = cP: logits c p at the keys' images."""
    keys = tokens[:, None, :].expand(-1, tokens.shape[1], -1)
    p = W[keys, tokens[:, :, None]].softmax(dim=2)
    logits = torch.zeros(*tokens.shape, L, dtype=W.dtype).scatter(2, keys, c * p)
    return functional.cross_entropy(logits.flatten(0, 1), target.flatten(), reduction="none")


def _one_hot_loss(W: Tensor, c: float, tokens: Tensor, target: Tensor, L: int) -> Tensor:
    """The same as softmax(c X softmax(X^T W X)) reads."""
    X = functional.one_hot(tokens, L).to(W.dtype)
    p = torch.einsum("skl,lm,sqm->sqk", X, W, X).softmax(dim=2)
    logits = c * torch.einsum("sqk,skl->sql", p, X)
    return functional.cross_entropy(logits.flatten(0, 1), target.flatten(), reduction="none")


def _gradient(W: Tensor, loss: Loss, c: float, tokens: Tensor, ranks: Tensor) -> Tensor:
    W = W.detach().requires_grad_()
    place = ranks[tokens[:, None, :], tokens[:, :, None]].argmin(dim=2)
    target = tokens.gather(1, place)
    return torch.autograd.grad(loss(W, c, tokens, target, len(ranks)).mean(), W)[0]


def _autograd_flow(run: AttentionRun, loss: Loss) -> Numbers:
    block, ranks = run.block, torch.from_numpy(run.lists.rank)
    c = theorem_1_scale(block.L, block.n, block.delta)
    tokens = torch.from_numpy(enumerate_sequences(block.L, block.n).tokens)
    h, W = block.step * block.n / c, torch.zeros(block.L, block.L, dtype=torch.float64)
    for _ in range(block.max_steps):
        slope = _gradient(W, loss, c, tokens, ranks)
        W = W - h / 2 * (slope + _gradient(W - h * slope, loss, c, tokens, ranks))
    return {"W": W.numpy()}


def _descent(block: DescentRun) -> Case:
    run = AttentionRun(block, seed=0)
    pairs = block.batch * block.n**2
    return Case(
        name=f"decision lists, descent, L {block.L}, n {block.n}, {block.max_steps} steps",
        steps=("train_decision_list_attention",),
        ours=Way("ours", lambda: {"W": attention.train(run).W}),
        simple=Way(
            "scores gathered, autograd; the same draws",
            lambda: _autograd_descent(run, _gathered_loss),
        ),
        authors=Way(
            "eq. (1) on one-hot tokens, autograd; the same draws",
            lambda: _autograd_descent(run, _one_hot_loss),
        ),
        count_work=lambda: Work(
            flops=block.max_steps * 20 * pairs,
            bytes=block.max_steps * 8 * (pairs + 2 * block.L**2),
            rate="torch float64",
            formula="for each query and key of each sequence 20 flops, an exp counted as one, and "
            "its index (8 bytes); W read and written",
        ),
    )


def _autograd_descent(run: AttentionRun, loss: Loss) -> Numbers:
    block, ranks = run.block, torch.from_numpy(run.lists.rank)
    c = theorem_1_scale(block.L, block.n, block.delta)
    rng = generator("decision lists, drawn", *run.key.values())
    sampler = Sampler(rng, run.lists, block.n, block.batch)
    sampler.tokens()  # ours measures itself on a first batch
    W = torch.zeros(block.L, block.L, dtype=torch.float64)
    for _ in range(block.max_steps):
        W = W - block.eta * _gradient(W, loss, c, sampler.tokens(), ranks)
    return {"W": W.numpy()}


def _joint(L: int, n: int, m: int, runs: int, steps: int, eta: float = 0.05) -> Case:
    lists, sequences = lists_of_seed(L, m, 0), enumerate_sequences(L, n)
    rows = rows_of(lists, sequences)
    W, V = joint.small_start(np.random.default_rng(0), L, runs)
    queries = len(rows.query)

    def simple() -> Numbers:
        """One run: a row of scores a query, absent tokens at -inf."""
        tokens = torch.from_numpy(sequences.tokens)
        present = functional.one_hot(tokens, L).sum(dim=1, keepdim=True).expand(-1, n, -1)
        absent = present.flatten(0, 1).double().log()  # 0 or -inf
        place = torch.from_numpy(lists.determining_places(sequences.tokens))
        label = torch.from_numpy(lists.permutation)[tokens.gather(1, place)].flatten()
        own, losses = [part[0].clone().requires_grad_() for part in (W, V)], []
        for _ in range(steps):
            p = (functional.embedding(tokens.flatten(), own[0].T) + absent).softmax(dim=1)
            loss = functional.cross_entropy(p @ own[1].T, label)
            slopes = torch.autograd.grad(loss, own)
            own = [part - eta * slope for part, slope in zip(own, slopes, strict=True)]
            own = [part.detach().requires_grad_() for part in own]
            losses.append(loss.item())
        return {"losses": losses, "W": own[0].detach()}

    def authors() -> Numbers:
        """One run, one-hot tokens."""
        X = functional.one_hot(torch.from_numpy(sequences.tokens), L).double()
        own = [part[0].clone().requires_grad_() for part in (W, V)]
        losses = []
        for _ in range(steps):
            p = torch.einsum("skl,lm,sqm->sqk", X, own[0], X).softmax(dim=2)
            logits = torch.einsum("sqk,skl,ol->sqo", p, X, own[1]).flatten(0, 1)
            loss = functional.cross_entropy(logits, rows.label[:, 0])
            slopes = torch.autograd.grad(loss, own)
            own = [
                (p - eta * s).detach().requires_grad_() for p, s in zip(own, slopes, strict=True)
            ]
            losses.append(loss.item())
        return {"losses": losses}

    def ours() -> Numbers:
        trained = joint.train_joint(W, V, rows, eta, steps)
        return {"losses": trained.loss[:steps], "W": trained.W}

    return Case(
        name=f"decision lists, W and V, L {L}, n {n}, {runs} runs x {steps} steps",
        steps=("train_decision_list_joint", "train_decision_list_value"),
        ours=Way("ours", ours),
        simple=Way(
            "a row of scores a query, autograd, one run at a time",
            simple,
            of=lambda ours: {"losses": ours["losses"][:, 0], "W": ours["W"][0]},
            share=1 / runs,
        ),
        authors=Way(
            "eq. (1) on one-hot tokens, one run at a time",
            authors,
            of=lambda ours: {"losses": ours["losses"][:, 0]},
            share=1 / runs,
        ),
        # A query mixes n of V's columns, and as much twice back.
        count_work=lambda: Work(
            flops=6 * runs * steps * queries * n * L,
            bytes=8 * runs * steps * 4 * L**2,
            rate="torch float64",
            formula="6 n L flops a query, run and step: V p over the n tokens present, and back",
        ),
    )
