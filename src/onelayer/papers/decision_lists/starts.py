"""Runs that train V, as rows of tables.

V alone (section II), W and V near cP (Theorem 2), and both from small random starts (the regime
that the authors leave open).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from onelayer.papers.decision_lists import constants
from onelayer.papers.decision_lists.data import (
    DecisionLists,
    enumerate_sequences,
    random_lists,
    sample_sequences,
)
from onelayer.papers.decision_lists.hessian import largest_eigenvalue
from onelayer.papers.decision_lists.joint import (
    ValueRun,
    argmax_accuracy,
    centred_cosine,
    perturbed_start,
    small_start,
    train_joint,
    train_value,
)
from onelayer.papers.decision_lists.model import Rows, order, rows_of
from onelayer.seeds import generator

EIGENVALUE_TOLERANCE = 1e-3  # of lambda_max, relative


@dataclass(frozen=True)
class Problem:
    """Lists and permutation of one seed, and the sequences to train on.

    Attributes:
        L, n, m: sizes.
        seed: decides lists, permutation and, where sequences are drawn, those.
        sequences: how many are drawn; None lists all.
    """

    L: int
    n: int
    m: int
    seed: int
    sequences: int | None = None

    @property
    def key(self) -> dict[str, int]:
        """L, n, m and seed."""
        return {"L": self.L, "n": self.n, "m": self.m, "seed": self.seed}

    @property
    def sizes(self) -> tuple[int, int, int]:
        """L, n and m."""
        return self.L, self.n, self.m

    @property
    def lists(self) -> DecisionLists:
        """The lists and the permutation."""
        return random_lists(generator("decision lists", self.L, self.m, self.seed), self.L, self.m)

    def rows(self) -> Rows:
        """All sequences, or those that are drawn to train on."""
        if self.sequences is None:
            return rows_of(self.lists, enumerate_sequences(self.L, self.n))
        return self._drawn("trained on", self.sequences)

    def fresh_rows(self, count: int) -> Rows | None:
        """Sequences not trained on; None where all are trained on."""
        return None if self.sequences is None else self._drawn("fresh", count)

    def _drawn(self, purpose: str, count: int) -> Rows:
        rng = generator("decision lists", purpose, self.L, self.n, self.m, self.seed)
        return rows_of(self.lists, sample_sequences(rng, self.L, self.n, count))


def value_run(problem: Problem, eta: float, steps: int, record_every: int) -> ValueRun:
    """V alone, from 0, under uniform attention."""
    return train_value(problem.lists, problem.rows(), eta, steps, record_every)


def value_history(problem: Problem, run: ValueRun) -> pd.DataFrame:
    """L, n, m, seed and `step`, `loss`, `argmax_accuracy`, `centred_cosine`, `task_accuracy`."""
    return run.history.assign(**problem.key)[[*problem.key, *run.history.columns]]


def uniform_attention_ceiling(problem: Problem) -> float:
    """The largest task accuracy that any V can have at W = 0, over all sequences.

    Uniform attention gives all queries of a sequence the same output, so at best it is the label
    that most of them have.
    """
    sequences = enumerate_sequences(problem.L, problem.n)
    places = problem.lists.determining_places(sequences.tokens)  # [S, n]
    votes = (places[:, :, None] == np.arange(problem.n)).sum(axis=1)
    return float((sequences.probability * votes.max(axis=1)).sum() / problem.n)


def value_in_label_order(problem: Problem, run: ValueRun) -> pd.DataFrame:
    """V with its rows in the order of pi, so that P is the diagonal: `row`, `column`, `value`."""
    values = run.V[problem.lists.permutation]
    row, column = np.indices(values.shape)
    columns = {"row": row.ravel(), "column": column.ravel(), "value": values.ravel()}
    return pd.DataFrame(columns).assign(**problem.key)[[*problem.key, *columns]]


def near_runs(
    problems: Sequence[Problem],
    epsilon: float,
    scale: str,
    delta: float,
    steps: int,
    fresh: int,
) -> pd.DataFrame:
    """W and V from W = 0 and V within epsilon / 2 of cP, one run per problem.

    The learning rate is 1 / lambda_max with lambda_max taken at the run's own start; that is ours.

    Args:
        problems: one per seed.
        epsilon: width of the noise.
        scale: `theorem_1` or `theorem_2`: whose c.
        delta: in c.
        steps: where training stops.
        fresh: sequences that must be classified too where those trained on are drawn.

    Returns:
        L, n, m, seed, `scale`, `epsilon`, `delta`, `trained_on` (`all` or a number), `c`, the other
        fields of `constants.Theorem2` for Theorem 2's c, `lambda_max`, `first_perfect` and
        `accuracy` at the end.
    """
    found = []
    for problem in problems:
        lists, rows = problem.lists, problem.rows()
        rng = generator("decision lists, near", *problem.key.values(), scale, epsilon)
        if scale == "theorem_1":
            c = constants.theorem_1_scale(problem.L, problem.n, delta)
        else:
            c = constants.theorem_2_scale(problem.L, problem.n, epsilon, delta)
        W, V = perturbed_start(rng, lists, c, epsilon, runs=1)
        lambda_max = largest_eigenvalue(rng, W[0], V[0], rows, EIGENVALUE_TOLERANCE)
        run = train_joint(
            W,
            V,
            rows,
            1 / lambda_max,
            steps,
            stop_when_perfect=True,
            held_out=problem.fresh_rows(fresh),
        )
        key = problem.key | {"scale": scale, "epsilon": epsilon, "delta": delta}
        hypotheses = {"c": c}
        if scale == "theorem_2":
            hypotheses = vars(constants.theorem_2(*problem.sizes, epsilon, lambda_max, delta))
        row = {
            "trained_on": "all" if problem.sequences is None else str(problem.sequences),
            **hypotheses,
            "lambda_max": lambda_max,
            "first_perfect": run.first_perfect[0],
            "accuracy": run.accuracy[-1, 0],
        }
        found.append(key | row)
    return pd.DataFrame(found)


def small_runs(
    problems: Iterable[Problem], optimiser: str, eta: float, deviation: float, steps: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """W and V from entries drawn from N(0, deviation^2), one run per problem.

    Returns:
        Runs: L, n, m, seed, `optimiser`, `eta`, `deviation`, `first_perfect`, and at the end (the
        first perfect step, where there is one) `accuracy`, `order` of W, `argmax_accuracy` and
        `centred_cosine` of V; and their histories with `step`, `loss`, `accuracy`.
    """
    found, paths = [], []
    for problem in problems:
        lists = problem.lists
        rng = generator("decision lists, small", *problem.key.values(), deviation)
        W, V = small_start(rng, problem.L, runs=1, scale=deviation)
        run = train_joint(W, V, problem.rows(), eta, steps, optimiser, stop_when_perfect=True)
        key = problem.key | {"optimiser": optimiser, "eta": eta, "deviation": deviation}
        row = {
            "first_perfect": run.first_perfect[0],
            "accuracy": run.accuracy[-1, 0],
            "order": order(run.W[0], lists),
            "argmax_accuracy": argmax_accuracy(run.V[0], lists.permutation),
            "centred_cosine": centred_cosine(run.V[0], lists.matrix),
        }
        found.append(key | row)
        path = {"step": np.arange(len(run.loss)), "loss": run.loss[:, 0]}
        path["accuracy"] = run.accuracy[:, 0]
        paths.append(pd.DataFrame(path).assign(**key)[[*key, *path]])
    return pd.DataFrame(found), pd.concat(paths, ignore_index=True)
