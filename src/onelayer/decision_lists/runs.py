"""Which trainings there are, and what each reached: W alone, V alone at W = 0, and both."""

from collections.abc import Callable, Iterable

import numpy as np
import pandas as pd
import torch

from onelayer.decision_lists import data, training
from onelayer.decision_lists.model import evaluate, list_order, queries_of
from onelayer.decision_lists.theorem_1 import Setting, solve, time_and_bound
from onelayer.decision_lists.training import OnW, OnWAndV, train
from onelayer.seeds import generator
from onelayer.settings.decision_lists import NearStart, Run, Size, SmallStart, ValueTraining

DEVIATION = 0.01  # standard deviation of the entries of small starts
OPTIMISERS = {"gd": (torch.optim.SGD, "GD"), "adam": (torch.optim.Adam, "Adam")}
Progress = Callable[..., Iterable]


def each_seed(problems: Iterable[Size], progress: Progress, seeds: list[int] | None = None):
    """Every problem, each of its seeds (or `seeds`), and what every row of that run begins with."""
    for size, seed in progress([(one, seed) for one in problems for seed in seeds or one.seeds]):
        key = {"L": size.L, "n": size.n, "m": size.m, "shortest": size.lengths[0], "seed": seed}
        yield size, seed, key


def attention_runs(runs: Iterable[Run], progress: Progress = iter) -> tuple[pd.DataFrame, ...]:
    """W alone (Theorem 1): every run with each of its seeds.

    Three tables with `method`, `L`, `n`, `m`, `shortest` and `seed`: what each run reached
    (`summary`, and the end of its history); its history (`step`, and what `OnW.measure` says); W at
    the end in list order (`query`; `place`, 0 for a_1, m and on for other tokens; `score`).
    """
    summaries, histories, scores = [], [], []
    for run, seed, size in each_seed(runs, progress):
        key, problem = {"method": run.method} | size, OnW(run, seed)
        history = train(problem, run.max_steps, run.record_every)
        histories.append(history.assign(**key))
        summaries.append(key | summary(run, problem) | dict(history.iloc[-1]))
        order = problem.lists.rank.argsort(axis=0, kind="stable")  # [L, query]
        score = np.take_along_axis(problem.W.numpy(), order, axis=0)
        place, query = np.indices(score.shape)
        listed = {"query": query.ravel(), "place": place.ravel(), "score": score.ravel()}
        scores.append(pd.DataFrame(key | listed))
    return pd.DataFrame(summaries), pd.concat(histories), pd.concat(scores)


def summary(run: Run, problem: OnW) -> dict[str, float]:
    """When a run was perfect, beside the reduced flow and Theorem 1's bound.

    Of query tokens the last decides `t_star`; fresh sequences make it late by chance, so that
    medians over tokens are what to compare.
    """
    settings = [Setting(run.L, run.n, m) for m in run.lengths]
    of_length = solve(settings, max_steps=run.max_steps)[0]
    found, exact = problem.crossing, of_length[problem.lists.lengths - run.lengths[0]]  # [L]
    gamma = data.uniform_gamma(run.L, run.n, run.lengths)
    times = {"median_column_time": np.median(found)}
    times |= {"exact_t_star": exact.max(), "exact_median_time": np.median(exact)}
    return times | time_and_bound(run.L, run.m, found.max(), gamma)


def value_runs(settings: ValueTraining, progress: Progress = iter) -> pd.DataFrame:
    """V alone, by descent from 0 under uniform attention (section II), for every size and seed.

    A row per step with `L`, `n`, `m`, `shortest`, `seed`, `step`, `loss`, strict `accuracy` of the
    label, what `likeness` says, and `task_accuracy_ceiling`, the most that any V reaches at W = 0.
    """
    rows = []
    for size, seed, key in each_seed(settings.sizes, progress, settings.seeds):
        lists = data.lists_of_seed(size.L, size.m, seed, size.shortest)
        sequences = data.enumerate_sequences(size.L, size.n)
        queries = queries_of(lists, sequences)
        # Uniform attention gives all queries of a sequence the same output: at best it is the label
        # that most of them have.
        places = lists.determining_places(sequences.tokens)  # [S, n]
        votes = (places[:, :, None] == np.arange(size.n)).sum(axis=1)
        ceiling = float((sequences.probability * votes.max(axis=1)).sum() / size.n)
        W, V = torch.zeros(2, size.L, size.L, dtype=torch.float64)
        for step in range(settings.steps + 1):
            here = evaluate(W, V, queries, of_w=False)
            found = {"step": step, "loss": here.loss, "accuracy": here.accuracy}
            found |= {"task_accuracy_ceiling": ceiling} | likeness(V.numpy(), lists)
            rows.append(key | found)
            # Tokens that all lists treat alike tie but for rounding, which optim.SGD changes.
            V -= settings.eta * here.grad_V
    return pd.DataFrame(rows)


def likeness(V: np.ndarray, lists: data.DecisionLists) -> dict[str, float]:
    """How far V has the direction of P.

    `argmax_accuracy` is the share of tokens b whose largest V[., b] is at pi(b), `centred_cosine`
    that of V and P, each minus its mean; 0 for a constant V.
    """
    places = lists.permutation, np.arange(len(V))
    others = V.copy()
    others[places] = -np.inf
    right = V[places] > others.max(axis=0)
    V, P = V - V.mean(), lists.matrix - lists.matrix.mean()
    norm = np.linalg.norm(V)
    cosine = float((V * P).sum() / (norm * np.linalg.norm(P))) if norm > 0 else 0.0
    return {"argmax_accuracy": float(right.mean()), "centred_cosine": cosine}


def near_runs(starts: Iterable[NearStart], progress: Progress = iter) -> pd.DataFrame:
    """W and V from W = 0 and V within epsilon / 2 of cP: one run per start, epsilon and seed.

    Theorem 2's c and hypotheses are those of each run's own start, and so is the learning rate 1 /
    lambda_max: the paper does not say where lambda_max is taken. Where the theorem promises a
    perfect step, the rate is halved until it is at most the inverse of all curvature on the way.

    `trained_on` is `all` or a number, `lambda_max` that of the start, `steps` where training stops,
    `eta_times_curvature` the largest on the way, where it was watched, `first_perfect` a step, NaN
    if none, and `accuracy` that at the end.
    """
    noises = [start.model_copy(update={"epsilon": [e]}) for start in starts for e in start.epsilon]
    return pd.DataFrame([near_run(*run) for run in each_seed(noises, progress)])


def near_run(start: NearStart, seed: int, key: dict) -> dict:
    """One row of `near_runs`."""
    L, n, m, epsilon = start.L, start.n, start.m, start.epsilon[0]
    lists, held_out = data.lists_of_seed(L, m, seed, start.shortest), None
    if start.sequences is None:
        queries = queries_of(lists, data.enumerate_sequences(L, n))
    else:
        drawn = []
        for purpose, count in (("trained on", start.sequences), ("fresh", start.fresh)):
            rng = generator("decision lists", purpose, L, n, m, seed)
            drawn.append(queries_of(lists, data.sample_sequences(rng, L, n, count)))
        queries, held_out = drawn
    rng = generator("decision lists, near", L, n, m, seed, "theorem_2", epsilon)
    noise = torch.from_numpy(rng.uniform(-epsilon / 2, epsilon / 2, (L, L)))
    zero, P = torch.zeros_like(noise), torch.from_numpy(lists.matrix)

    def loss_with(c: float) -> float:
        return evaluate(zero, c * P + noise, queries, of_w=False).loss

    c = data.theorem_2_scale(n, epsilon, loss_with)
    V = c * P + noise
    lambda_max, vector = training.largest_eigenvalue(
        zero, V, queries, rng.standard_normal(2 * L**2)
    )
    eta, steps = 1 / lambda_max, start.steps
    while True:
        theorem = data.theorem_2(n, m, epsilon, loss_with(c), eta)
        watched = vector if theorem["holds"] else None
        W_and_V = zero.clone(), V.clone()
        problem = OnWAndV(*W_and_V, queries, torch.optim.SGD, eta, held_out, watched)
        last = train(problem, steps).iloc[-1]
        if not problem.too_fast:
            break
        eta, steps = eta / 2, 2 * steps
    text = f"near cP, c of Theorem 2, epsilon {epsilon:g}"
    text += f", {start.sequences} sequences" if start.sequences else ""
    row = {"start": text, **key, "epsilon": epsilon, "trained_on": str(start.sequences or "all")}
    row |= {"c": c, "lambda_max": lambda_max, **theorem, "steps": steps}
    row["eta_times_curvature"] = eta * problem.curvature if theorem["holds"] else np.nan
    row["first_perfect"] = last["step"] if problem.perfect else np.nan
    return row | {"accuracy": last["accuracy"]}


def small_runs(
    starts: Iterable[SmallStart], progress: Progress = iter
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """W and V from entries drawn from N(0, DEVIATION^2), one run per start and seed.

    What each run reached: `first_perfect`, and at the end (the first perfect step, where there is
    one) `accuracy`, `order` of W, `argmax_accuracy` and `centred_cosine` of V; and its history.
    """
    runs, histories = [], []
    for start, seed, size in each_seed(starts, progress):
        lists = data.lists_of_seed(start.L, start.m, seed, start.shortest)
        queries = queries_of(lists, data.enumerate_sequences(start.L, start.n))
        purpose = "decision lists, small", start.L, start.n, start.m, seed, DEVIATION
        normal = generator(*purpose).normal(0.0, DEVIATION, (2, start.L, start.L))
        W, V = torch.from_numpy(normal)
        optimiser, name = OPTIMISERS[start.optimiser]
        problem = OnWAndV(W, V, queries, optimiser, start.eta)
        history = train(problem, start.steps)
        in_words = name.replace("GD", "gradient descent")
        text = f"entries N(0, {DEVIATION:g}^2), {in_words}, eta {start.eta:g}"
        key = {"start": text} | size | {"optimiser": name, "eta": start.eta}
        histories.append(history.assign(**key))
        last = history.iloc[-1]
        found = {"first_perfect": last["step"] if problem.perfect else np.nan}
        found |= {"accuracy": last["accuracy"], "order": list_order(lists, W.numpy())}
        runs.append(key | found | likeness(V.numpy(), lists))
    return pd.DataFrame(runs), pd.concat(histories)
