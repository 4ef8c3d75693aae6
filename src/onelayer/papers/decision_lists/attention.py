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
from onelayer.papers.decision_lists.constants import gamma, theorem_1_bound, theorem_1_scale
from onelayer.papers.decision_lists.data import (
    DecisionLists,
    enumerate_sequences,
    lists_of_seed,
    zipf_weights,
)
from onelayer.papers.decision_lists.full import (
    AllSequences,
    FactoredTraining,
    FullFlow,
    GpuTraining,
    Training,
    euler,
    follow,
    heun,
)
from onelayer.papers.decision_lists.reduced import STEP, Setting, solve
from onelayer.papers.decision_lists.sampler import Sampler
from onelayer.settings.decision_lists import MOST_SHOWN, AttentionSettings, Run, size_of

KEYS = ["L", "n", "m", "delta", "zipf", "method", "seed"]


@dataclass(frozen=True)
class AttentionRun:
    """One seed of a run.

    Attributes:
        block: the run's settings.
        seed: decides lists, permutation and drawn sequences.
    """

    block: Run
    seed: int

    @property
    def key(self) -> dict[str, object]:
        """The values of `KEYS`."""
        return {name: getattr(self.block, name) for name in KEYS[:-1]} | {"seed": self.seed}

    @property
    def columns(self) -> dict[str, object]:
        """What rows of tables begin with: the key, `shortest` and `deviation`.

        `shortest` is m where all lists have m. `deviation` is that of the entries at the start: 0
        where W starts from 0, as all methods do but that with W_K and W_Q apart.
        """
        block = self.block
        deviation = block.deviation if block.method == "factored" else 0.0
        return self.key | {"shortest": block.shortest or block.m, "deviation": deviation}

    @property
    def lists(self) -> DecisionLists:
        """The same lists for every method and distribution of a seed."""
        return lists_of_seed(self.block.L, self.block.m, self.seed, self.block.shortest)

    @property
    def weights(self) -> np.ndarray | None:
        """The tokens' weights, or None for uniform subsets."""
        return zipf_weights(self.block.L, self.block.zipf) if self.block.zipf else None


def train(run: AttentionRun, execution: Execution = Execution()) -> FullFlow:
    """Train W from 0 until it classifies perfectly.

    Args:
        run: what to do.
        execution: how. Runs with drawn sequences compute on its device, those on all sequences on
            the CPU; goes on from its checkpoint and removes it at the end.
    """
    block, lists = run.block, run.lists
    c = theorem_1_scale(block.L, block.n, block.delta)
    if block.method == "full":
        source = AllSequences(lists, enumerate_sequences(block.L, block.n, run.weights))
        training = Training(source, c, block.step * block.n / c)
        return follow(training, heun, block, execution)
    if block.method == "factored":
        source = AllSequences(lists, enumerate_sequences(block.L, block.n, run.weights))
        named = run.key | {"method": f"factored, N(0, {block.deviation:.15g}^2)"}
        drawn = *named.values(), block.shortest or block.m
        rng = generator("decision lists, factors", *drawn)
        factors = rng.normal(0.0, block.deviation, (2, block.L, block.L))
        training = FactoredTraining(source, c, block.step * block.n / c, factors)
        return follow(training, heun, block, execution)
    rng = generator("decision lists, drawn", *run.key.values())
    source = Sampler(rng, lists, block.n, block.batch, run.weights, execution.device)
    of_device = GpuTraining if on_gpu(execution.device) else Training
    if block.method == "sampled":
        training = of_device(source, c, block.step * block.n / c, block.chunks)
        return follow(training, heun, block, execution)
    return follow(of_device(source, c, block.eta), euler, block, execution)


def train_runs(
    settings: AttentionSettings, execution: Execution = Execution()
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Train every run with every of its seeds, one after the other.

    Each keeps its state in a file of its own: when the third of five is killed, the next start goes
    through the first two again, which must neither take that state for theirs nor remove it.

    Returns:
        `summary` and `history` of all, and `scores_in_list_order` of those small enough to draw.
    """
    runs = [AttentionRun(block, seed) for block in settings.runs for seed in block.seeds]
    summaries, histories, scores = [], [], []
    for place, run in enumerate(runs):
        flow = train(run, execution.part(place, run))
        summaries.append(summary(run, flow))
        histories.append(history(run, flow))
        if run.block.L <= MOST_SHOWN:
            scores.append(scores_in_list_order(run, flow))
    return (
        pd.DataFrame(summaries),
        pd.concat(histories, ignore_index=True),
        pd.concat(scores, ignore_index=True),
    )


def summary(run: AttentionRun, flow: FullFlow) -> dict[str, object]:
    """One row: `AttentionRun.columns`, and what the run reached beside exact flow and bound.

    `exact_t_star` is the reduced flow's for uniform subsets (NaN otherwise); the median column time
    is that of the median query token.
    """
    block, last = run.block, flow.history.iloc[-1]
    mass = gamma(run.lists, block.n, run.weights)
    return run.columns | {
        "t_star": flow.t_star,
        "median_column_time": float(np.median(flow.column_times)),
        "exact_t_star": np.nan if block.zipf else _exact_t_star(block),
        "gamma": mass,
        "bound": theorem_1_bound(block.L, block.m, mass),
        "steps": flow.steps,
        "accuracy": last["accuracy"],
        "order": last["order"],
        "certified": last["certified"],
    }


def _exact_t_star(block: Run) -> float:
    """The reduced flow's, with the run's own step where it follows the flow.

    Of lists of unequal length it is that of the slowest length.
    """
    step = STEP if block.method == "descent" else block.step
    L, n, m = size_of(block)
    settings = [Setting(L, n, k, block.delta) for k in range(block.shortest or m, m + 1)]
    return float(solve(settings, step, max_steps=block.max_steps).t_star.max())


def history(run: AttentionRun, flow: FullFlow) -> pd.DataFrame:
    """`AttentionRun.columns` and `time`, `loss`, `accuracy`, `order`, `certified` over time."""
    return flow.history.assign(**run.columns)[[*run.columns, *flow.history.columns]]


def scores_in_list_order(run: AttentionRun, flow: FullFlow) -> pd.DataFrame:
    """W at the end: `AttentionRun.columns`, `query`, `place`, `score`.

    The place is 0 for a_1, and m and on for other tokens.
    """
    order = run.lists.rank.argsort(axis=0, kind="stable")  # [L, query]
    scores = np.take_along_axis(flow.W, order, axis=0)
    place, query = np.indices(scores.shape)
    columns = {"query": query.ravel(), "place": place.ravel(), "score": scores.ravel()}
    return pd.DataFrame(columns).assign(**run.columns)[[*run.columns, *columns]]
