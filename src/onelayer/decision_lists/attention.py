"""W alone, with V = cP (section I.C.1): the whole matrix trained, beside the exact flow."""

from collections.abc import Iterable

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from onelayer.decision_lists import data, theorem_1
from onelayer.decision_lists.model import evaluate, list_order, list_steps, queries_of
from onelayer.decision_lists.theorem_1 import Setting, heun, solve, time_and_bound
from onelayer.seeds import generator
from onelayer.settings.decision_lists import Run

RATE, BATCH = 0.02, 256  # of descent on W: learning rate, and sequences a step


def attention_runs(
    runs: Iterable[Run], progress: data.Progress = iter
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """W alone: every run with each of its seeds.

    Three tables with `method`, `L`, `n`, `m`, `shortest` and `seed`: when each run was perfect,
    beside the reduced flow and Theorem 1's bound, and the end of its history; its history, as
    `train` gives it; W at the end in list order (`query`; `place`, 0 for a_1, m and on for other
    tokens; `score`).

    Of query tokens the last decides `t_star`; fresh sequences make it late by chance, so that
    medians over tokens are what to compare.
    """
    reached, histories, scores = [], [], []
    for run, seed, size in data.each_seed(runs, progress):
        key = {"method": run.method} | size
        lists, W, learned, history = train(run, seed)
        settings = [Setting(run.L, run.n, m) for m in run.lengths]
        of_length = solve(settings, max_steps=run.max_steps)[0]
        exact = of_length[lists.lengths - run.lengths[0]]  # [L]
        times = {"exact_t_star": exact.max(), "exact_median_time": np.median(exact)}
        times["median_column_time"] = np.median(learned)
        gamma = theorem_1.uniform_gamma(run.L, run.n, run.lengths)
        times |= time_and_bound(run.L, run.m, learned.max(), gamma)
        reached.append(key | times | dict(history.iloc[-1]))
        histories.append(history.assign(**key))
        order = lists.rank.argsort(axis=0, kind="stable")  # [L, query]
        score = np.take_along_axis(W.numpy(), order, axis=0)
        place, query = np.indices(score.shape)
        listed = {"query": query.ravel(), "place": place.ravel(), "score": score.ravel()}
        scores.append(pd.DataFrame(key | listed))
    return pd.DataFrame(reached), pd.concat(histories), pd.concat(scores)


def train(run: Run, seed: int) -> tuple[data.DecisionLists, Tensor, np.ndarray, pd.DataFrame]:
    """W from 0, c of Theorem 1 at delta = 1, until every sequence is proven right.

    `full` is the population gradient flow over all sequences by Heun's method, and so checks the
    reduction in `theorem_1`; `descent` is stochastic gradient descent on sequences drawn anew at
    every step, whose time is learning rate x steps.

    Returns:
        The lists. W, float64 [L, L]. The times from which on each query token was proven right,
        float64 [L], NaN while it is not. The history: `step`, `time`, `loss` and strict `accuracy`
        over the step's sequences, `order` (`list_order`), and `certified`, the share of query
        tokens that are proven right.
    """
    L, n, full = run.L, run.n, run.method == "full"
    lists, c = data.lists_of_seed(L, run.m, seed, run.shortest), theorem_1.scale(L, n)
    key = "decision lists, drawn", L, n, run.m, 1.0, 0.0, run.method, seed
    rng = torch.Generator().manual_seed(int(generator(*key).integers(2**31)))
    sequences = data.enumerate_sequences(L, n) if full else draw_sequences(rng, L, n)
    queries = queries_of(lists, sequences)
    W, V = torch.zeros(L, L, dtype=torch.float64), torch.from_numpy(c * lists.matrix)

    def rate(W: Tensor) -> Tensor:
        return -evaluate(W, V, queries).grad_W

    h = theorem_1.STEP * n / c if full else RATE
    margin, history = list_steps(lists, W.numpy()).min(axis=1), []  # [L]
    learned = np.where(margin > 0, 0.0, np.nan)
    for step in range(run.max_steps + 1):
        last = step == run.max_steps or (margin > 0).all()
        if last or step % run.record_every == 0:
            here = evaluate(W, V, queries)
            state = {"step": step, "time": h * step, "loss": here.loss, "accuracy": here.accuracy}
            state["order"] = list_order(lists, W.numpy())
            history.append(state | {"certified": float((margin > 0).mean())})
        if last:
            break
        if full:
            W = heun(rate, W, h)
        else:
            queries = queries_of(lists, draw_sequences(rng, L, n))
            W = W + h * rate(W)
        before, margin = margin, list_steps(lists, W.numpy()).min(axis=1)
        theorem_1.update_crossings(learned, before, margin, h, step)
    return lists, W, learned, pd.DataFrame(history)


def draw_sequences(rng: torch.Generator, L: int, n: int, batch: int = BATCH) -> data.Sequences:
    """Uniform sequences of distinct tokens, by torch's generator."""
    if n**2 > L:
        tokens = torch.rand(batch, L, generator=rng).topk(n, dim=1).indices
        return data.Sequences(tokens.numpy(), np.full(batch, 1 / batch))
    # Uniform tokens, drawn again where one repeats: cheaper than a key for every token.
    tokens, again = torch.empty(batch, n, dtype=torch.int64), torch.ones(batch, dtype=torch.bool)
    while again.any():
        tokens[again] = torch.randint(L, (int(again.sum()), n), generator=rng)
        ascending = tokens.sort(dim=1).values
        again = (ascending[:, 1:] == ascending[:, :-1]).any(dim=1)
    return data.Sequences(tokens.numpy(), np.full(batch, 1 / batch))
