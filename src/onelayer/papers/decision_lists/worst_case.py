"""Theorem 1's worst case: lists and distributions whose time comes nearest to the bound.

delta is 1, the largest probability mass there is: it makes c least and the time longest.
Columns of W do not know of each other, so that those of many lists and distributions are one batch
of the flow in `reduced`, each token a slot of its own and each sequence a pattern.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from onelayer.compute.seeds import generator
from onelayer.evidence.tables import ALL, number, row_per, table, tidy
from onelayer.evidence.verdicts import NOT_REACHED, UpperBound, judge
from onelayer.papers.decision_lists import data
from onelayer.papers.decision_lists.constants import gamma, theorem_1_bound, theorem_1_scale
from onelayer.papers.decision_lists.reduced import STEP, Patterns, solve_patterns
from onelayer.settings.decision_lists import Size, WorstCaseSettings

KEYS = ["vocabulary", "sequence_length", "list_length", "distribution"]
UNIFORM, WEIGHTED = "uniform", "any weights"


@dataclass(frozen=True, eq=False)
class Case:
    """Lists for every token, and the tokens' weights, float64 [L]."""

    lists: data.DecisionLists
    weights: np.ndarray


def patterns_of(cases: Sequence[Case], n: int) -> Patterns:
    """All sequences with each query token, of cases of one size: B is cases x L, K is L.

    `probability` is such that over L it is P(s, s_j = a), for a uniformly chosen position j.
    """
    L = cases[0].lists.vocabulary
    counts, probabilities, targets = [], [], []
    for case in cases:
        sequences = data.enumerate_sequences(L, n, case.weights)
        present = np.zeros((len(sequences.tokens), L), dtype=bool)
        np.put_along_axis(present, sequences.tokens, True, axis=1)
        for a in range(L):
            asked = present[:, a]  # as many sequences for each token
            first = np.where(present[asked], case.lists.rank[:, a], L + 1).argmin(axis=1)
            counts.append(present[asked].T.astype(float))
            probabilities.append(sequences.probability[asked] * L / n)
            targets.append(np.arange(L)[:, None] == first)
    B = len(counts)
    stacked = (np.stack(part, axis=-1) for part in (counts, probabilities, targets))
    same = (np.full(B, float(value)) for value in (theorem_1_scale(L, n), L, n))
    return Patterns(*stacked, np.ones((L, B)), *same)


def measure(cases: Sequence[Case], n: int, step: float, max_steps: int) -> pd.DataFrame:
    """t*, gamma, the bound and their ratio of cases of one size, a row each.

    Where a flow gave up, `perfect` is False, and `t_star` and `ratio` are how far it came: the
    least that they can be.
    """
    L = cases[0].lists.vocabulary
    times, *_ = solve_patterns(patterns_of(cases, n), step, max_steps)
    times = times.max(axis=0).reshape(len(cases), L).max(axis=1)
    perfect = ~np.isnan(times)
    t_star = np.where(perfect, times, max_steps * step * n / theorem_1_scale(L, n))
    mass = np.array([gamma(case.lists, n, case.weights) for case in cases])
    longest = np.array([(case.lists.lists != data.PADDING).sum(axis=1).max() for case in cases])
    bound = theorem_1_bound(L, longest, mass)
    columns = {"t_star": t_star, "gamma": mass, "bound": bound, "longest_list": longest}
    return pd.DataFrame(columns | {"ratio": t_star / bound, "perfect": perfect})


def changed(rng: np.random.Generator, case: Case, m: int, heaviest: float) -> Case:
    """The case with another list for one token, or, where it may, another weight for one."""
    L, a = len(case.weights), int(rng.integers(len(case.weights)))
    if heaviest > 1 and rng.random() < 0.5:
        weights = case.weights.copy()
        weights[a] = np.clip(weights[a] * np.exp(rng.normal()), 1 / heaviest, heaviest)
        return Case(case.lists, weights)
    lists, length = case.lists.lists.copy(), int(rng.integers(1, m + 1))
    lists[a] = data.PADDING
    lists[a, : length - 1] = rng.permutation(np.delete(np.arange(L), a))[: length - 1]
    lists[a, length - 1] = a
    return Case(data.DecisionLists(lists, case.lists.permutation), case.weights)


def climb(size: Size, settings: WorstCaseSettings, heaviest: float) -> tuple[Case, int, int, float]:
    """Random cases, each improved by one change after the other that makes the ratio larger.

    Returns:
        The case with the largest ratio; how many were tried, and of how many the flow gave up; and
        the largest ratio of the random ones.
    """
    L, n, m = size.L, size.n, size.m
    rng, tried = generator("worst case", L, n, m, heaviest, settings.seed), []
    reach = np.log(heaviest)

    def random_case() -> Case:
        lists = data.random_lists(rng, L, rng.permutation([m, *rng.integers(1, m + 1, L - 1)]))
        return Case(lists, np.exp(rng.uniform(-reach, reach, L)))

    def measured(cases: list[Case]) -> np.ndarray:
        tried.append(measure(cases, n, settings.step, settings.max_steps))
        return tried[-1]["ratio"].to_numpy()

    cases = [random_case() for _ in range(settings.climbs)]
    ratios = measured(cases)
    at_random = float(ratios.max())
    for _ in range(settings.rounds):
        new = [changed(rng, case, m, heaviest) for case in cases]
        changed_ratios = measured(new)
        better = changed_ratios > ratios
        cases = [b if up else a for a, b, up in zip(cases, new, better, strict=True)]
        ratios = np.where(better, changed_ratios, ratios)
    every = pd.concat(tried)
    return cases[int(ratios.argmax())], len(every), int((~every["perfect"]).sum()), at_random


def search(settings: WorstCaseSettings, progress: Callable[..., Iterable]) -> pd.DataFrame:
    """The worst case of every size, with uniform sequences and with any weights.

    Returns:
        `L`, `n`, `m`, `distribution`; what `measure` says of the case found, with the step of
        Theorem 1's table; `tries`, `gave_up` and `at_random`, as `climb`; `weights` and `lists`.
    """
    rows = []
    for size in progress(settings.sizes, unit="size"):
        for distribution, heaviest in ((UNIFORM, 1.0), (WEIGHTED, settings.heaviest)):
            case, tries, gave_up, at_random = climb(size, settings, heaviest)
            finer = settings.step / STEP * settings.max_steps
            measured = measure([case], size.n, STEP, int(finer)).iloc[0]
            lists = [[int(b) for b in row if b != data.PADDING] for row in case.lists.lists]
            rows.append(
                {"L": size.L, "n": size.n, "m": size.m, "distribution": distribution}
                | measured.to_dict()
                | {"tries": tries, "gave_up": gave_up, "at_random": at_random}
                | {"weights": case.weights.tolist(), "lists": lists}
            )
    return pd.DataFrame(rows)


@row_per(*KEYS)
def readable(by: pd.DataFrame, *key: object) -> dict:
    """A row per size and distribution."""
    value, (L, n, m, distribution) = by["value"], key
    return {
        "L": L,
        "n": n,
        "M": m,
        "sequences": distribution,
        "largest t* / bound": number(value["largest_time_to_bound_ratio"], 4),
        "of random ones": number(value["at_random"], 4),
        "t*": number(value["t_star"], 3),
        "γ": number(value["gamma"], 4),
        "bound": number(value["bound"], 1),
        "tries": number(value["tries"], 0),
        "verdict": by.loc["largest_time_to_bound_ratio", "verdict"],
        "lists": by.loc["largest_time_to_bound_ratio", "note"],
    }


@table(
    "decision_lists/worst_case",
    "W alone (Theorem 1)",
    "table: Theorem 1's worst case",
    title="Decision lists, Theorem 1: the lists and distributions nearest to the bound",
    notes=[
        "Random lists of 1 to M tokens and random weights of the tokens, each improved by one "
        "change after the other (another list for one token, another weight) that makes t* / "
        "bound larger. A search finds cases and proves nothing: the largest of all may be larger.",
        "The theorem speaks of M much less than L; here M is as long as γ > 0 allows. Exact flow "
        "over all sequences of n distinct tokens, P(s) proportional to the product of weights. "
        "γ, and δ = 1, are ours as in the table of Theorem 1; a smaller δ makes c larger and the "
        "time shorter. The bound has the longest list that the case has.",
        "Lists are written as token: its list, most decisive first; tokens without others in their "
        "list are left out. A flow that gave up counts with the time that it came "
        "to; where one did and none is above the bound, the row is 'not reached'.",
    ],
    readable=readable,
    reads={"cases": "search_worst_case.found"},
)
def worst_case(cases: pd.DataFrame) -> pd.DataFrame:
    """The worst cases beside the bound, tidy, by `KEYS`; first the worst of all."""
    rows, cases = [], cases.rename(columns=dict(zip(("L", "n", "m"), KEYS, strict=False)))
    worst, every = cases.loc[cases["ratio"].idxmax()], dict.fromkeys(KEYS, ALL)
    worst = worst.copy()
    worst["gave_up"] = cases["gave_up"].sum()
    for case, key in [(worst, every), *((case, dict(case[KEYS])) for _, case in cases.iterrows())]:
        longer = ((a, tokens) for a, tokens in enumerate(case["lists"]) if len(tokens) > 1)
        lists = "; ".join(f"{a}: {' '.join(map(str, tokens))}" for a, tokens in longer)
        heavy = " ".join(f"{weight:.2g}" for weight in case["weights"])
        note = f"{lists}; weights {heavy}" if case["distribution"] == WEIGHTED else lists
        tries = cases["tries"].sum() if key is every else case["tries"]
        reached = case["perfect"] and not case["gave_up"]
        late = {} if reached or case["ratio"] > 1 else {"verdict": NOT_REACHED}
        ratio = {"value": case["ratio"], "published": 1.0, "n": tries, "note": note}
        rows.append(key | {"quantity": "largest_time_to_bound_ratio"} | ratio | late)
        named = ["gave_up", "t_star", "gamma", "bound", "at_random", "longest_list"]
        described = {"tries": tries, **case[named]}
        described["skew"] = max(case["weights"]) / min(case["weights"])
        rows += [key | {"quantity": name, "value": value} for name, value in described.items()]
    return judge(tidy(rows, KEYS), {"largest_time_to_bound_ratio": UpperBound()})
