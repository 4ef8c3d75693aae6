"""Runs of Theorem 1 on the full matrix W, each as rows of tables: one seed, one method.

Methods: `full` (population flow over all sequences), `sampled` (the flow with fresh sequences at
every step), `descent` (stochastic gradient descent on fresh sequences) and `factored` (population
flow on W_K and W_Q).
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from onelayer.compute.device import on_gpu
from onelayer.compute.execution import Execution
from onelayer.compute.seeds import generator
from onelayer.papers.decision_lists import constants, data, full
from onelayer.papers.decision_lists.reduced import STEP, Setting, solve
from onelayer.settings.decision_lists import MOST_SHOWN, AttentionSettings, Run, size_of


@dataclass(frozen=True)
class AttentionRun:
    """One run with one seed, which decides lists, permutation and drawn sequences."""

    block: Run
    seed: int

    @property
    def key(self) -> dict[str, object]:
        """L, n, m, delta, zipf, method and seed."""
        names = ("L", "n", "m", "delta", "zipf", "method")
        return {name: getattr(self.block, name) for name in names} | {"seed": self.seed}

    @property
    def columns(self) -> dict[str, object]:
        """What rows begin with: the key, `shortest` and the start's `deviation`, 0 for W = 0."""
        shortest = self.block.shortest or self.block.m
        return self.key | {"shortest": shortest, "deviation": getattr(self.block, "deviation", 0.0)}

    @property
    def lists(self) -> data.DecisionLists:
        """The same lists for every method and distribution of a seed."""
        return data.lists_of_seed(self.block.L, self.block.m, self.seed, self.block.shortest)

    @property
    def weights(self) -> np.ndarray | None:
        """The tokens' weights, or None for uniform subsets."""
        return data.zipf_weights(self.block.L, self.block.zipf) if self.block.zipf else None


def train(run: AttentionRun, execution: Execution = Execution()) -> full.FullFlow:
    """Train W from 0 until it classifies perfectly, as `full.follow`.

    Runs with drawn sequences compute on the device of `execution`, those on all on the CPU.
    """
    block, lists = run.block, run.lists
    if block.method in ("sampled", "descent"):
        rng = generator("decision lists, drawn", *run.key.values())
        source = full.Sampler(rng, lists, block.n, block.batch, run.weights, execution.device)
    else:
        source = full.AllSequences(lists, data.enumerate_sequences(block.L, block.n, run.weights))
    c = constants.theorem_1_scale(block.L, block.n, block.delta)
    descent = block.method == "descent"
    dynamics = (full.euler, c, block.eta) if descent else (full.heun, c, block.step * block.n / c)
    if block.method == "factored":
        named = run.key | {"method": f"factored, N(0, {block.deviation:.15g}^2)"}
        rng = generator("decision lists, factors", *named.values(), block.shortest or block.m)
        factors = rng.normal(0.0, block.deviation, (2, block.L, block.L))
        training = full.FactoredTraining(source, *dynamics, factors)
    else:
        of_device = full.GpuTraining if on_gpu(source.device) else full.TrainingOfW
        chunks = block.chunks if block.method == "sampled" else 1
        training = of_device(source, *dynamics, chunks)
    return full.follow(training, block, execution)


def train_runs(
    settings: AttentionSettings, execution: Execution = Execution()
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Train every run with each of its seeds, one after the other, each with its own state.

    Returns:
        `summary`, `FullFlow.history`; `scores_in_list_order` of runs small enough to draw.
    """
    runs = [AttentionRun(block, seed) for block in settings.runs for seed in block.seeds]
    summaries, histories, scores = [], [], []
    for place, run in enumerate(runs):
        flow = train(run, execution.part(place, run))
        summaries.append(summary(run, flow))
        histories.append(pd.DataFrame(run.columns | dict(flow.history)))
        if run.block.L <= MOST_SHOWN:
            scores.append(scores_in_list_order(run, flow))
    together = (pd.concat(parts, ignore_index=True) for parts in (histories, scores))
    return pd.DataFrame(summaries), *together


def summary(run: AttentionRun, flow: full.FullFlow) -> dict[str, object]:
    """One row: `AttentionRun.columns`, and what the run reached beside exact flow and bound.

    `exact_t_star` is the reduced flow's for uniform subsets (NaN otherwise), and
    `exact_median_time` the median of its times over the query tokens.
    """
    exact = _exact_times(run)
    block, last = run.block, flow.history.iloc[-1]
    mass = constants.gamma(run.lists, block.n, run.weights)
    return run.columns | {
        "t_star": flow.t_star,
        "median_column_time": float(np.median(flow.column_times)),
        "exact_t_star": float(exact.max()),
        "exact_median_time": float(np.median(exact)),
        "gamma": mass,
        "bound": constants.theorem_1_bound(block.L, block.m, mass),
        "steps": flow.steps,
        **last[["accuracy", "order", "certified"]],
    }


def _exact_times(run: AttentionRun) -> np.ndarray:
    """The reduced flow's of each query token by the length of its list, float64 [L].

    With the run's own step for a flow; NaN where sequences are not uniform.
    """
    block, (L, n, m) = run.block, size_of(run.block)
    if block.zipf:
        return np.full(L, np.nan)
    step, shortest = STEP if block.method == "descent" else block.step, block.shortest or m
    settings = [Setting(L, n, k, block.delta) for k in range(shortest, m + 1)]
    lengths = (run.lists.lists != data.PADDING).sum(axis=1)
    return solve(settings, step, max_steps=block.max_steps).t_star[lengths - shortest]


def scores_in_list_order(run: AttentionRun, flow: full.FullFlow) -> pd.DataFrame:
    """W at the end: `query`, `place` (0 for a_1, m and on for other tokens) and `score`."""
    order = run.lists.rank.argsort(axis=0, kind="stable")  # [L, query]
    scores = np.take_along_axis(flow.W, order, axis=0)
    place, query = np.indices(scores.shape)
    columns = {"query": query.ravel(), "place": place.ravel(), "score": scores.ravel()}
    return pd.DataFrame(run.columns | columns)
