"""Runs of Theorem 1 on the full matrix W, each as rows of tables: one seed, one method.

Methods: `full` (population flow over all sequences), `sampled` (the flow with fresh sequences at
every step) and `descent` (stochastic gradient descent on fresh sequences).
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from onelayer.papers.decision_lists.constants import gamma, theorem_1_bound, theorem_1_scale
from onelayer.papers.decision_lists.data import (
    DecisionLists,
    enumerate_sequences,
    random_lists,
    zipf_weights,
)
from onelayer.papers.decision_lists.full import (
    FullFlow,
    Progress,
    full_flow,
    sampled_flow,
    stochastic_descent,
)
from onelayer.papers.decision_lists.reduced import STEP, Setting, solve
from onelayer.papers.decision_lists.resume import Resume
from onelayer.seeds import generator

KEYS = ["L", "n", "m", "delta", "zipf", "method", "seed"]


@dataclass(frozen=True)
class AttentionRun:
    """One run.

    Attributes:
        L, n, m, delta: the problem, see `reduced.Setting`.
        zipf: exponent of the tokens' weights, 0 for uniform subsets.
        method: `full`, `sampled` or `descent`.
        seed: decides lists, permutation and drawn sequences.
        record_every, max_steps: see `full.full_flow`.
        step: Heun step in units of n / c (`full`, `sampled`).
        eta: learning rate (`descent`).
        batch, chunks: see `full.sampled_flow`.
    """

    L: int
    n: int
    m: int
    delta: float
    zipf: float
    method: str
    seed: int
    record_every: int
    max_steps: int
    step: float = STEP
    eta: float = 0.0
    batch: int = 1
    chunks: int = 1

    @property
    def key(self) -> dict[str, object]:
        """The values of `KEYS`."""
        return {name: getattr(self, name) for name in KEYS}

    @property
    def lists(self) -> DecisionLists:
        """The same lists for every method and distribution of a seed."""
        return random_lists(generator("decision lists", self.L, self.m, self.seed), self.L, self.m)

    @property
    def weights(self) -> np.ndarray | None:
        """The tokens' weights, or None for uniform subsets."""
        return zipf_weights(self.L, self.zipf) if self.zipf else None


def train(
    run: AttentionRun,
    device: str = "cpu",
    progress: Progress = iter,
    checkpoint: Path | None = None,
    identity: str = "",
) -> FullFlow:
    """Train W from 0 until it classifies perfectly.

    Args:
        run: what to do.
        device: where runs with drawn sequences compute; `full` stays on the CPU.
        progress: wraps the steps, to show how many are done.
        checkpoint: where a long run keeps its state, and what a killed one goes on from.
        identity: what decides the numbers beside the run itself, such as the code.
    """
    common = {
        "c": theorem_1_scale(run.L, run.n, run.delta),
        "max_steps": run.max_steps,
        "record_every": run.record_every,
        "progress": progress,
        "resume": Resume(checkpoint, f"{identity} {run}") if checkpoint else None,
    }
    if run.method == "full":
        sequences = enumerate_sequences(run.L, run.n, run.weights)
        return full_flow(run.lists, sequences, step=run.step, **common)
    drawn = {"n": run.n, "batch": run.batch, "weights": run.weights, "device": device}
    rng = generator("decision lists, drawn", *run.key.values())
    if run.method == "sampled":
        return sampled_flow(rng, run.lists, step=run.step, chunks=run.chunks, **drawn, **common)
    return stochastic_descent(rng, run.lists, eta=run.eta, **drawn, **common)


def summary(run: AttentionRun, flow: FullFlow) -> dict[str, object]:
    """One row: `KEYS`, and what the run reached beside the exact reduced flow and the bound.

    `exact_t_star` is the reduced flow's for uniform subsets (NaN otherwise); the median column time
    is that of the median query token.
    """
    last = flow.history.iloc[-1]
    mass = gamma(run.lists, run.n, run.weights)
    exact = np.nan
    if not run.zipf:
        setting = Setting(run.L, run.n, run.m, run.delta)
        exact = solve([setting], run.step, max_steps=run.max_steps).t_star[0]
    return run.key | {
        "t_star": flow.t_star,
        "median_column_time": float(np.median(flow.column_times)),
        "exact_t_star": exact,
        "gamma": mass,
        "bound": theorem_1_bound(run.L, run.m, mass),
        "steps": flow.steps,
        "accuracy": last["accuracy"],
        "order": last["order"],
        "certified": last["certified"],
    }


def history(run: AttentionRun, flow: FullFlow) -> pd.DataFrame:
    """`KEYS` and `time`, `loss`, `accuracy`, `order`, `certified` over time."""
    return flow.history.assign(**run.key)[[*KEYS, *flow.history.columns]]


def scores_in_list_order(run: AttentionRun, flow: FullFlow) -> pd.DataFrame:
    """W at the end: `KEYS`, `query`, `place` (0 for a_1, m and on for other tokens), `score`."""
    lists = run.lists
    order = lists.rank.argsort(axis=0, kind="stable")  # [L, query]
    scores = np.take_along_axis(flow.W, order, axis=0)
    place, query = np.indices(scores.shape)
    columns = {"query": query.ravel(), "place": place.ravel(), "score": scores.ravel()}
    return pd.DataFrame(columns).assign(**run.key)[[*KEYS, *columns]]
