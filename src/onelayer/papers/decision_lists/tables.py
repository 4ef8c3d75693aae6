"""The tables of the decision-list paper: tidy for machines, and in a reader's shape.

The paper publishes no numbers but two bounds: Theorem 1's time 4 M / (log(L) gamma), and Theorem
2's window of steps. They stand in `published`; the verdict `reproduced` means at most that. A time
that was not observed within the steps allowed is `not reached`.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from onelayer.evidence.intervals import mean
from onelayer.evidence.tables import ALL, number, table, tidy
from onelayer.evidence.verdicts import NOT_REACHED, UpperBound, judge
from onelayer.papers.decision_lists.data import list_length

# The paper's symbols as key columns in words: `n` is the column of sample sizes in every table.
# Lists have from `shortest_list` to `list_length` tokens: the same where all have as many.
WORDS = {
    "L": "vocabulary",
    "n": "sequence_length",
    "m": "list_length",
    "shortest": "shortest_list",
}
SIZES = list(WORDS.values())
THEOREM_1_KEYS = [*SIZES, "delta"]
THEOREM_1_QUANTITIES = [
    "t_star",
    "gamma",
    "bound",
    "t_star_to_bound_ratio",
    "t_star_gamma_log_l",
    "order",
]
ATTENTION_KEYS = [*SIZES, "delta", "zipf", "method", "deviation", "seed"]
# The method that Theorem 1 speaks of: the flow of the population loss.
POPULATION_FLOW = "full"
TIMES = ("median_column_time", "time_to_exact_ratio")
THEOREM_2_KEYS = [*SIZES, "delta", "epsilon", "trained_on"]
VALUE_KEYS = [*SIZES, "seed"]
# `start` is for readers; of what kind it is: `near` or `small`; whose c it has, and whether Theorem
# 2's hypotheses hold or fail there. `none` where a start has neither.
JOINT_FACTS = ["start_kind", "c_of", "hypotheses"]
JOINT_KEYS = ["start", *JOINT_FACTS, *SIZES, "seed"]

NOT_PERFECT = {"verdict": NOT_REACHED, "note": "not perfect within the steps allowed"}
TOO_LATE = {"verdict": NOT_REACHED, "note": "not reached within the steps allowed"}
NO_MASS = "delta above 1 is no probability mass: ours alone, not judged"


def in_words(runs: pd.DataFrame) -> pd.DataFrame:
    """Runs with the paper's symbols in words."""
    return runs.rename(columns=WORDS)


def readable_theorem_1(table: pd.DataFrame) -> pd.DataFrame:
    """A row per setting."""
    rows = []
    for (L, n, m, shortest, delta), by in _settings(table, THEOREM_1_KEYS):
        value = by["value"]
        share = value["t_star_to_bound_ratio"]
        rows.append(
            {
                "L": L,
                "n": n,
                "m": list_length(m, shortest),
                "δ": f"{delta:g}",
                "t*": _significant(value["t_star"]),
                "γ": _significant(value["gamma"]),
                "bound": _significant(value["bound"], 4),
                "bound / t*": _significant(1 / share if share else np.nan, 2),
                "t* γ log L": number(value["t_star_gamma_log_l"], 4),
                "list order": number(value["order"], 3),
                "verdict": by.loc["t_star", "verdict"] or "–",
            }
        )
    return pd.DataFrame(rows)


@table(
    "decision_lists/theorem_1",
    "W alone (Theorem 1)",
    "table: Theorem 1",
    title="Decision lists, Theorem 1: time to perfect classification of all sequences, W only",
    notes=[
        "Exact: reduced gradient flow from W = 0, V = cP, uniform sequences of n distinct tokens, "
        "lists of equal length m; '1 to 4': of unequal length, each length for as many tokens, "
        "which take as long as the slowest length alone. t* is the first time at which every "
        "sequence is classified strictly right. 'List order' is the share of adjacent list pairs "
        "with W[a_k, a] > W[a_{k+1}, a].",
        "The paper publishes no numbers but the bound 4 m / (log(L) γ), which stands in "
        "'published' beside t_star; 'reproduced' means that t* is at most the bound, and 'bound / "
        "t*' how loose it is.",
        "γ and δ are ours: the abstract only says that they depend on the least probability mass "
        "of 'certain quantities'. γ = min over tokens a and list places k of P(s_j = a and a_k "
        "determines its label); δ = 1 in c = 4 n log(L) / δ unless stated.",
        "The bound does not depend on δ, t* grows about as δ², so how loose the bound is depends "
        "on δ. Rows with δ above 1, which is no probability mass, are not judged.",
    ],
    readable=readable_theorem_1,
    reads={"solved": "solve_decision_lists.solved"},
)
def theorem_1(solved: pd.DataFrame) -> pd.DataFrame:
    """t* beside the bound, tidy: `THEOREM_1_KEYS` and `VALUE_COLUMNS`.

    Args:
        solved: `sweep.solve_grids`.
    """
    rows = []
    for setting in in_words(solved).to_dict("records"):
        key = {name: setting[name] for name in THEOREM_1_KEYS}
        for quantity in THEOREM_1_QUANTITIES:
            row = {"quantity": quantity, "value": setting[quantity]}
            if quantity == "t_star":
                row |= against_bound(setting["t_star"], setting["bound"], setting["delta"])
            elif np.isnan(row["value"]):
                row |= NOT_PERFECT
            rows.append(key | row)
    return judge(tidy(rows, THEOREM_1_KEYS), UpperBound())


def against_bound(
    t_star: float, bound: float, delta: float, method: str = POPULATION_FLOW
) -> dict[str, object]:
    """What a time is compared with; of a method that Theorem 1 does not speak of, an analogue."""
    compared = {"note": NO_MASS} if delta > 1 else {"published": bound}
    analogue = {} if method == POPULATION_FLOW else {"kind": "analogue"}
    return compared | analogue | (NOT_PERFECT if np.isnan(t_star) else {})


def readable_attention_training(table: pd.DataFrame) -> pd.DataFrame:
    """A row per run."""
    rows = []
    for key, by in _settings(table, ATTENTION_KEYS):
        L, n, m, shortest, delta, zipf, method, deviation, seed = key
        value = by["value"]
        rows.append(
            {
                "L": L,
                "n": n,
                "m": list_length(m, shortest),
                "δ": f"{delta:g}",
                "sequences": f"Zipf {zipf:g}" if zipf else "uniform",
                "method": method + (f", N(0, {deviation:g}^2)" if deviation else ""),
                "seed": seed,
                "t*": _significant(value["t_star"], 4),
                "median token": _significant(value["median_column_time"], 4),
                "exact t*": _significant(value.get("exact_t_star", np.nan), 4),
                "ratio": number(value.get("time_to_exact_ratio", np.nan), 4),
                "bound": _significant(value["bound"]),
                "accuracy": number(value["accuracy"], 3),
                "list order": number(value["order"], 3),
                "certified": number(value["certified"], 3),
                "verdict": by.loc["t_star", "verdict"] or "–",
            }
        )
    return pd.DataFrame(rows)


@table(
    "decision_lists/attention_training",
    "W alone (Theorem 1)",
    "table: runs on the full W",
    title="Decision lists: training the full matrix W, V = cP",
    notes=[
        "Methods: 'full', population gradient flow over all sequences; 'sampled', the flow with "
        "fresh sequences at every step; 'descent', stochastic gradient descent on fresh "
        "sequences, time = learning rate × steps. Flows by Heun's method.",
        "'factored': population flow on W_K and W_Q apart, W = W_K^T W_Q, from entries drawn with "
        "that standard deviation: the paper's first equation, of which the theorem does not "
        "speak. Lists '1 to 4' long: of unequal length, each length for as many tokens.",
        "t* is the time at which the last query token is learned; 'median token' the median over "
        "query tokens. 'ratio' compares with the exact reduced flow, which exists for uniform "
        "sequences: t* of 'full', the median token of the others (with fresh sequences the last "
        "token is late by chance).",
        "'certified' is the share of query tokens a with W[a_1, a] > ... > W[a_m, a] > all "
        "others, a proof for every sequence of distinct tokens; 'accuracy' is over all sequences "
        "for 'full' and over the last draw for the others.",
        "The bound is Theorem 1's, 4 m / (log(L) γ), for population flow; 'reproduced' means at "
        "most that. The other methods, which the theorem does not speak of, are analogues. γ and "
        "δ are ours: the abstract only says that they depend on the least probability mass of "
        "'certain quantities'. γ = min over tokens a and list places k of P(s_j = a and a_k "
        "determines its label); δ = 1 in c = 4 n log(L) / δ unless stated.",
    ],
    readable=readable_attention_training,
    reads={"runs": "train_decision_list_attention.runs"},
)
def attention_training(runs: pd.DataFrame) -> pd.DataFrame:
    """Every run on the full matrix W, tidy: `ATTENTION_KEYS` and `VALUE_COLUMNS`.

    Args:
        runs: rows of `attention.summary`.
    """
    rows = []
    for run in in_words(runs).to_dict("records"):
        key = {name: run[name] for name in ATTENTION_KEYS}
        time = against_bound(run["t_star"], run["bound"], run["delta"], run["method"])
        rows.append(key | {"quantity": "t_star", "value": run["t_star"]} | time)
        drawn = run["method"] in ("sampled", "descent")
        typical = run["median_column_time"] if drawn else run["t_star"]
        quantities = {
            name: run[name]
            for name in ("median_column_time", "gamma", "bound", "accuracy", "order", "certified")
        }
        if not np.isnan(exact := run["exact_t_star"]):
            quantities["exact_t_star"] = exact
            # t* = 0: the first step, however short, is perfect
            quantities["time_to_exact_ratio"] = typical / exact if exact else float(typical == 0)
        quantities["steps"] = run["steps"]
        for name, value in quantities.items():
            unseen = name in TIMES and np.isnan(value)
            row = {"quantity": name, "value": value} | (NOT_PERFECT if unseen else {})
            rows.append(key | row)
    return judge(tidy(rows, ATTENTION_KEYS), {"t_star": UpperBound()})


def readable_theorem_2(table: pd.DataFrame) -> pd.DataFrame:
    """A row per start."""
    rows = []
    for (L, n, m, shortest, delta, epsilon, trained_on), by in _settings(table, THEOREM_2_KEYS):
        value, observed = by["value"], by.loc["observed_step"]
        holds = value["hypotheses_hold"] == 1
        first, last = value["window_first_step"], value["window_last_step"]
        rows.append(
            {
                "L": L,
                "n": n,
                "m": list_length(m, shortest),
                "δ": f"{delta:g}",
                "ε": f"{epsilon:g}",
                "sequences": trained_on,
                "c": number(value["c"], 0),
                "L₀": number(value["starting_loss"], 3),
                "A must exceed": number(value["least_a"], 3),
                "and stay below": number(value["largest_a"], 3),
                "hypotheses": "hold" if holds else "fail",
                "λ_max": _significant(value["lambda_max"]),
                "window of T (steps)": f"{first:.0f} to {last:.0f}" if holds else "–",
                "perfect at step, mean [95%]": _mean_and_interval(observed),
                "latest": number(value["latest_step"], 0),
                "verdict": by.loc["latest_step", "verdict"] if holds else "nothing promised",
            }
        )
    return pd.DataFrame(rows)


@table(
    "decision_lists/theorem_2",
    "V, and W and V together",
    "table: Theorem 2",
    title="Decision lists, Theorem 2: W and V trained together near V = cP",
    notes=[
        "Gradient descent with η = 1 / λ_max from W = 0 and V = cP + noise of sup norm ε / 2, c = "
        "10 n² L₀ / δ + 4 ε n; means over seeds with 95% t-intervals. λ_max is taken at each "
        "run's own start, L₀ at V = cP, δ = 1: the abstract leaves these open, so they are ours.",
        "The hypotheses ask for an A with sqrt(4 m L₀ / ε) < A < L₀ - 6 ε / n. Some ε meets them "
        "only where n log(n)² > 162 m, that is n of 19, 29, 38 or more for m of 1, 2, 3; "
        "elsewhere nothing is promised and the row has no verdict.",
        "Where they hold, 'published' beside latest_step is the window's beginning 2 m L₀ / (A² "
        "η) with the largest A, a mean over the seeds: the earliest T for which a perfect step up "
        "to T is promised; 'reproduced' means that the slowest seed was perfect by then.",
        "'sequences': all, or how many were drawn and trained on; perfect then means on those and "
        "on as many fresh ones as the settings say, which is evidence and no proof, and an "
        "analogue of the population loss.",
    ],
    readable=readable_theorem_2,
    reads={"near": "train_decision_list_joint.near"},
)
def theorem_2(near: pd.DataFrame) -> pd.DataFrame:
    """Theorem 2's hypotheses, window and observed step, tidy: `THEOREM_2_KEYS`, `VALUE_COLUMNS`.

    Means over seeds with 95% t-intervals, and `latest_step`, the first perfect step of the seed
    that took longest: the theorem speaks of every start. Where the hypotheses hold, its published
    value is the beginning of the window (a mean over the seeds, whose learning rates differ), the
    earliest T for which the theorem promises a perfect step up to T.

    Args:
        near: runs of `starts.near_runs`; those with Theorem 2's c are shown.
    """
    rows = []
    with_its_c = in_words(near[near["scale"] == "theorem_2"])
    for key, runs in with_its_c.groupby(THEOREM_2_KEYS, sort=False):
        key = dict(zip(THEOREM_2_KEYS, key, strict=True))
        for quantity in ("c", "starting_loss", "largest_a", "least_a"):
            rows.append(key | {"quantity": quantity, "value": runs[quantity].iloc[0]})
        holds = bool(runs["holds"].iloc[0])
        rows.append(key | {"quantity": "hypotheses_hold", "value": float(holds)})
        for quantity, column in (
            ("lambda_max", "lambda_max"),
            ("window_first_step", "first_step"),
            ("window_last_step", "last_step"),
        ):
            rows.append(key | {"quantity": quantity, "runs": len(runs)} | mean(runs[column]))
        rows += [key | row for row in _observed(runs, holds)]
    return judged_theorem_2(tidy(rows, THEOREM_2_KEYS))


def _observed(runs: pd.DataFrame, holds: bool) -> list[dict[str, object]]:
    """First perfect steps: the mean over the seeds that got there, and the latest of all.

    A seed that was not perfect within the steps allowed took longer than those: so many count where
    they reach into the window, and else its latest step is not known.
    """
    perfect = runs["first_perfect"].notna()
    note = "" if perfect.all() else f"{perfect.sum()} of {len(runs)} seeds perfect in time"
    promise = "" if holds else "the hypotheses do not hold: nothing is promised"
    notes = {"note": "; ".join(filter(None, [note, promise]))}
    published = {"published": runs["first_step"].mean()} if holds else {}
    seen = runs["first_perfect"].fillna(runs["steps"].where(runs["steps"] > runs["first_step"]))
    latest = {"value": seen.max(), "n": len(runs)} | published | notes
    # A seed that is known to be late decides, whatever became of the others.
    late = holds and seen.max() > published["published"]
    if seen.isna().any() and not late:
        latest |= {"value": np.nan, "verdict": NOT_REACHED}
    observed = mean(runs["first_perfect"][perfect]) | published | notes
    if not perfect.any():
        observed |= {"verdict": NOT_REACHED}
    return [
        {"quantity": "observed_step", "runs": int(perfect.sum())} | observed,
        {"quantity": "latest_step"} | latest,
    ]


def judged_theorem_2(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of `theorem_2`, judged: the latest step of all seeds beside the window's beginning.

    Where only drawn sequences were trained on, that is no population loss: an analogue.
    """
    drawn = (table["trained_on"] != ALL) & (table["quantity"] == "latest_step")
    table = table.assign(kind=np.where(drawn, "analogue", ""))
    return judge(table, {"latest_step": UpperBound()})


def readable_value(table: pd.DataFrame) -> pd.DataFrame:
    """A row per problem: mean over seeds, smallest to largest."""
    rows = []
    for (L, n, m, shortest), group in _groups(table, SIZES):
        by = group.pivot(index="seed", columns="quantity", values="value")
        rows.append(
            {
                "L": L,
                "n": n,
                "m": list_length(m, shortest),
                "seeds": len(by),
                "argmax of V is P": _spread(by["argmax_accuracy"], 3),
                "from step": _spread(by["steps_to_argmax"], 0),
                "centred cosine with P": _spread(by["centred_cosine"], 3),
                "task accuracy": _spread(by["task_accuracy"], 3),
                "most that any V can": _spread(by["task_accuracy_ceiling"], 3),
                "loss": _spread(by["loss"], 3),
            }
        )
    return pd.DataFrame(rows)


@table(
    "decision_lists/value_from_uniform_attention",
    "V, and W and V together",
    "table: V alone",
    title="Decision lists: V trained alone under uniform attention (W = 0)",
    notes=[
        "The paper reports, without numbers, that uniform attention 'is sufficient to push V in "
        "the direction of P'. Population gradient descent on V from V = 0; mean over seeds "
        "(smallest to largest).",
        "Centred cosine: of V and P, each minus its mean. 'Most that any V can': at W = 0 all "
        "queries of a sequence get the same output, so no V classifies more than the most "
        "frequent label of each sequence.",
        "V finds the permutation, and the task stays unsolved: it takes attention.",
    ],
    readable=readable_value,
    reads={
        "history": "train_decision_list_value.history",
        "ceilings": "train_decision_list_value.ceilings",
    },
)
def value_from_uniform_attention(history: pd.DataFrame, ceilings: pd.DataFrame) -> pd.DataFrame:
    """What V becomes at W = 0, tidy: `VALUE_KEYS` and `VALUE_COLUMNS`.

    Args:
        history: `starts.value_history` of every problem.
        ceilings: L, n, m, seed and `task_accuracy_ceiling`.
    """
    ceiling = in_words(ceilings).set_index(VALUE_KEYS)["task_accuracy_ceiling"]
    rows = []
    for key, path in in_words(history).groupby(VALUE_KEYS, sort=False):
        last = path.iloc[-1]
        reached = path.loc[path["argmax_accuracy"] == 1, "step"]
        values = {
            "argmax_accuracy": last["argmax_accuracy"],
            "steps_to_argmax": reached.min(),
            "centred_cosine": last["centred_cosine"],
            "task_accuracy": last["task_accuracy"],
            "task_accuracy_ceiling": ceiling[key],
            "loss": last["loss"],
        }
        key = dict(zip(VALUE_KEYS, key, strict=True))
        for quantity, value in values.items():
            row = key | {"quantity": quantity, "value": value}
            rows.append(row | (TOO_LATE if np.isnan(value) else {}))
    return tidy(rows, VALUE_KEYS)


def readable_joint(table: pd.DataFrame) -> pd.DataFrame:
    """A row per start and size: mean over seeds, smallest to largest."""
    rows = []
    for (start, L, n, m, shortest), group in _groups(table, ["start", *SIZES]):
        by = group.pivot(index="seed", columns="quantity", values="value")
        perfect = by["steps_to_perfect"].dropna()
        row = {
            "start": start,
            "L": L,
            "n": n,
            "m": list_length(m, shortest),
            "perfect": f"{len(perfect)} of {len(by)} seeds",
            "at step": _spread(perfect, 0),
            "accuracy at the end": _spread(by["accuracy"], 4),
        }
        for quantity, name in (
            ("order", "list order of W"),
            ("argmax_accuracy", "argmax of V is P"),
            ("centred_cosine", "centred cosine of V and P"),
        ):
            row[name] = _spread(by[quantity], 3) if quantity in by else "–"
        rows.append(row)
    return pd.DataFrame(rows)


@table(
    "decision_lists/joint_training",
    "V, and W and V together",
    "table: W and V together",
    title="Decision lists: W and V trained together",
    notes=[
        "Population gradient. Near cP: W = 0, V = cP + uniform noise of sup norm ε / 2, gradient "
        "descent with η = 1 / λ_max at the start. From N(0, σ²): every entry of W and V, the "
        "regime that the authors leave open; learning rates are ours.",
        "'At step': first step at which all sequences (of Theorem 2's sampled row: those drawn "
        "and fresh ones) are classified strictly right, mean over the seeds that got there "
        "(smallest to largest); the CSV has every seed. The last columns are taken at that step.",
        "No published numbers: the paper proves convergence near cP and calls small random starts "
        "an opportunity for future work. These are measurements at small sizes and no proof.",
    ],
    readable=readable_joint,
    reads={"near": "train_decision_list_joint.near", "small": "train_decision_list_joint.small"},
)
def joint_training(near: pd.DataFrame, small: pd.DataFrame) -> pd.DataFrame:
    """Training W and V together seed by seed, tidy: `JOINT_KEYS` and `VALUE_COLUMNS`.

    Args:
        near: runs of `starts.near_runs`.
        small: runs of `starts.small_runs`.
    """
    at_the_end = ["accuracy", "order", "argmax_accuracy", "centred_cosine"]
    rows = []
    for runs, quantities in ((near, at_the_end[:1]), (small, at_the_end)):
        for run in in_words(runs).to_dict("records"):
            key = {"start": start_name(run)} | start_facts(run)
            key |= {name: run[name] for name in [*SIZES, "seed"]}
            steps = {"quantity": "steps_to_perfect", "value": run["first_perfect"]}
            if np.isnan(run["first_perfect"]):
                steps |= TOO_LATE
            rows.append(key | steps)
            rows += [key | {"quantity": name, "value": run[name]} for name in quantities]
    return tidy(rows, JOINT_KEYS)


def start_name(run: dict) -> str:
    """What a run of `starts` started from, and how it was trained, in words."""
    if "epsilon" in run:
        theorem = run["scale"].replace("theorem_", "Theorem ")
        delta = "" if run["delta"] == 1 else f", delta {run['delta']:.15g}"
        drawn = "" if run["trained_on"] == ALL else f", {run['trained_on']} sequences"
        return f"near cP, c of {theorem}, epsilon {run['epsilon']:.15g}{delta}{drawn}"
    name = {"gd": "gradient descent", "adam": "Adam"}[run["optimiser"]]
    return f"entries N(0, {run['deviation']:.15g}^2), {name}, eta {run['eta']:.15g}"


def start_facts(run: dict) -> dict[str, str]:
    """The values of `JOINT_FACTS`; with Theorem 1's c, Theorem 2 promises nothing."""
    if "epsilon" not in run:
        return {"start_kind": "small", "c_of": "none", "hypotheses": "none"}
    of_theorem_2 = run["scale"] == "theorem_2"
    hypotheses = ("hold" if run["holds"] else "fail") if of_theorem_2 else "none"
    return {"start_kind": "near", "c_of": run["scale"], "hypotheses": hypotheses}


def _settings(table: pd.DataFrame, keys: Sequence[str]) -> Iterable[tuple[tuple, pd.DataFrame]]:
    """The rows of every setting in the table's order, by quantity."""
    for key, group in table.groupby(list(keys), sort=False):
        yield key, group.set_index("quantity")


def _groups(table: pd.DataFrame, keys: Sequence[str]) -> Iterable[tuple[tuple, pd.DataFrame]]:
    yield from table.groupby(list(keys), sort=False)


def _spread(values: pd.Series, digits: int) -> str:
    """`0.88 (0.82 to 0.94)`; one number where all are alike to these digits."""
    values = values.dropna()
    if values.empty:
        return "–"
    mean, low, high = (number(v, digits) for v in (values.mean(), values.min(), values.max()))
    return mean if low == high else f"{mean} ({low} to {high})"


def _mean_and_interval(row: pd.Series) -> str:
    low, high = number(row["low"], 1), number(row["high"], 1)
    mean = number(row["value"], 1)
    return mean if low == high or np.isnan(row["low"]) else f"{mean} [{low}, {high}]"


def _significant(value: float, digits: int = 3) -> str:
    """A number with so many significant digits and no exponent; a dash where there is none."""
    if not np.isfinite(value):
        return "–"
    decimals = digits - 1 - int(np.floor(np.log10(abs(value)))) if value else 0
    return f"{value:,.{max(decimals, 0)}f}"
