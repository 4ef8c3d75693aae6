"""Runs that train V, as rows of tables.

V alone (section II), W and V near cP (Theorem 2), and both from small random starts (the regime
that the authors leave open).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from onelayer.compute.execution import progress_bar
from onelayer.compute.seeds import generator
from onelayer.evidence.findings import ALL
from onelayer.papers.decision_lists import constants
from onelayer.papers.decision_lists.data import (
    DecisionLists,
    enumerate_sequences,
    lists_of_seed,
    sample_sequences,
)
from onelayer.papers.decision_lists.hessian import largest_eigenvalue
from onelayer.papers.decision_lists.joint import (
    JointRuns,
    ValueRun,
    argmax_accuracy,
    centred_cosine,
    perturbed_start,
    small_start,
    train_joint,
    train_value,
)
from onelayer.papers.decision_lists.model import Rows, order, rows_of
from onelayer.settings.decision_lists import (
    ListedSize,
    NearStart,
    SmallStart,
    ValueSettings,
    size_of,
)

EIGENVALUE_TOLERANCE = 1e-3  # of lambda_max, relative
Progress = Callable[..., Iterable]


@dataclass(frozen=True)
class Problem:
    """Lists and permutation of one seed, and the sequences to train on.

    Attributes:
        size: L, n, m and the shortest list.
        seed: decides lists, permutation and, where sequences are drawn, those.
        sequences: how many are drawn; None lists all.
    """

    size: ListedSize
    seed: int
    sequences: int | None = None

    @property
    def key(self) -> dict[str, int]:
        """L, n, m and seed."""
        return {"L": self.size.L, "n": self.size.n, "m": self.size.m, "seed": self.seed}

    @property
    def columns(self) -> dict[str, int]:
        """What rows of tables begin with: the key, and `shortest`, m where all lists have m."""
        return self.key | {"shortest": self.size.shortest or self.size.m}

    @property
    def lists(self) -> DecisionLists:
        """The lists and the permutation."""
        return lists_of_seed(self.size.L, self.size.m, self.seed, self.size.shortest)

    def rows(self) -> Rows:
        """All sequences, or those that are drawn to train on."""
        if self.sequences is None:
            return rows_of(self.lists, enumerate_sequences(self.size.L, self.size.n))
        return self._drawn("trained on", self.sequences)

    def fresh_rows(self, count: int) -> Rows | None:
        """Sequences not trained on; None where all are trained on."""
        return None if self.sequences is None else self._drawn("fresh", count)

    def _drawn(self, purpose: str, count: int) -> Rows:
        rng = generator("decision lists", purpose, *self.key.values())
        return rows_of(self.lists, sample_sequences(rng, self.size.L, self.size.n, count))


def value_runs(
    settings: ValueSettings, progress: Progress = progress_bar
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """V alone, from 0, under uniform attention, for every size and seed.

    Returns:
        Three tables, each beginning with L, n, m, seed and `shortest`: `step`, `loss`,
        `argmax_accuracy`, `centred_cosine` and `task_accuracy`; `task_accuracy_ceiling`, see
        `uniform_attention_ceiling`; and V, see `value_in_label_order`.
    """
    problems = [Problem(size, seed) for size in settings.sizes for seed in settings.seeds]
    histories, ceilings, values = [], [], []
    for problem in progress(problems, unit="run"):
        how = settings.eta, settings.steps, settings.record_every
        run = train_value(problem.lists, problem.rows(), *how)
        columns = [*problem.columns, *run.history.columns]
        histories.append(run.history.assign(**problem.columns)[columns])
        ceiling = uniform_attention_ceiling(problem)
        ceilings.append(problem.columns | {"task_accuracy_ceiling": ceiling})
        values.append(value_in_label_order(problem, run))
    return (
        pd.concat(histories, ignore_index=True),
        pd.DataFrame(ceilings),
        pd.concat(values, ignore_index=True),
    )


def uniform_attention_ceiling(problem: Problem) -> float:
    """The largest task accuracy that any V can have at W = 0, over all sequences.

    Uniform attention gives all queries of a sequence the same output, so at best it is the label
    that most of them have.
    """
    n = problem.size.n
    sequences = enumerate_sequences(problem.size.L, n)
    places = problem.lists.determining_places(sequences.tokens)  # [S, n]
    votes = (places[:, :, None] == np.arange(n)).sum(axis=1)
    return float((sequences.probability * votes.max(axis=1)).sum() / n)


def value_in_label_order(problem: Problem, run: ValueRun) -> pd.DataFrame:
    """V with its rows in the order of pi, so that P is the diagonal: `row`, `column`, `value`."""
    values = run.V[problem.lists.permutation]
    row, column = np.indices(values.shape)
    columns = {"row": row.ravel(), "column": column.ravel(), "value": values.ravel()}
    return pd.DataFrame(columns).assign(**problem.columns)[[*problem.columns, *columns]]


def near_runs(starts: Iterable[NearStart], progress: Progress = progress_bar) -> pd.DataFrame:
    """W and V from W = 0 and V within epsilon / 2 of cP: one run per start, epsilon and seed.

    The learning rate is 1 / lambda_max with lambda_max taken at the run's own start; that is ours.

    Returns:
        L, n, m, seed, `shortest`, `scale`, `epsilon`, `delta`, `trained_on` (`all` or a number),
        `steps` (at most), `c`, the other fields of `constants.Theorem2` for Theorem 2's c,
        `lambda_max`, `first_perfect` and `accuracy` at the end.
    """
    found = []
    for start in progress(starts, unit="start"):
        problems = [Problem(start, seed, start.sequences) for seed in start.seeds]
        rows = [_near_run(start, e, problem) for e in start.epsilon for problem in problems]
        found.append(pd.DataFrame(rows))
    return pd.concat(found, ignore_index=True)


def _near_run(start: NearStart, epsilon: float, problem: Problem) -> dict[str, object]:
    """One row of `near_runs`."""
    rows = problem.rows()
    rng = generator("decision lists, near", *problem.key.values(), start.scale, epsilon)
    c = _scale(start, epsilon)
    W, V = perturbed_start(rng, problem.lists, c, epsilon, runs=1)
    lambda_max = largest_eigenvalue(rng, W[0], V[0], rows, EIGENVALUE_TOLERANCE)
    held_out = problem.fresh_rows(start.fresh)
    run = train_joint(W, V, rows, 1 / lambda_max, start.steps, held_out=held_out)
    hypotheses = {"c": c}
    if start.scale == "theorem_2":
        sizes = size_of(start)
        hypotheses = vars(constants.theorem_2(*sizes, epsilon, lambda_max, start.delta))
    return {
        **problem.columns,
        "scale": start.scale,
        "epsilon": epsilon,
        "delta": start.delta,
        "trained_on": ALL if start.sequences is None else str(start.sequences),
        "steps": start.steps,
        **hypotheses,
        "lambda_max": lambda_max,
        "first_perfect": run.first_perfect[0],
        "accuracy": run.accuracy[-1, 0],
    }


def _scale(start: NearStart, epsilon: float) -> float:
    """The c of the theorem that the start names."""
    if start.scale == "theorem_1":
        return constants.theorem_1_scale(start.L, start.n, start.delta)
    return constants.theorem_2_scale(start.L, start.n, epsilon, start.delta)


def small_runs(
    starts: Iterable[SmallStart], progress: Progress = progress_bar
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """W and V from entries drawn from N(0, deviation^2), one run per start and seed.

    Returns:
        Runs: L, n, m, seed, `shortest`, `optimiser`, `eta`, `deviation`, `first_perfect`, and at
        the end (the first perfect step, where there is one) `accuracy`, `order` of W,
        `argmax_accuracy` and `centred_cosine` of V; and their histories with `step`, `loss`,
        `accuracy`.
    """
    found, paths = [], []
    for start in progress(starts, unit="start"):
        for problem in (Problem(start, seed) for seed in start.seeds):
            rng = generator("decision lists, small", *problem.key.values(), start.deviation)
            W, V = small_start(rng, start.L, runs=1, scale=start.deviation)
            run = train_joint(W, V, problem.rows(), start.eta, start.steps, start.optimiser)
            how = {name: getattr(start, name) for name in ("optimiser", "eta", "deviation")}
            key = problem.columns | how
            found.append(key | _end_of_small_run(problem.lists, run))
            path = {"step": np.arange(len(run.loss)), "loss": run.loss[:, 0]}
            path["accuracy"] = run.accuracy[:, 0]
            paths.append(pd.DataFrame(path).assign(**key)[[*key, *path]])
    return pd.DataFrame(found), pd.concat(paths, ignore_index=True)


def _end_of_small_run(lists: DecisionLists, run: JointRuns) -> dict[str, float]:
    """What W and V of a batch of one have come to."""
    return {
        "first_perfect": run.first_perfect[0],
        "accuracy": run.accuracy[-1, 0],
        "order": order(run.W[0], lists),
        "argmax_accuracy": argmax_accuracy(run.V[0], lists.permutation),
        "centred_cosine": centred_cosine(run.V[0], lists.matrix),
    }
