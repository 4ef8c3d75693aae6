"""The tables of the decision-list paper: tidy for machines, and in a reader's shape."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd

from onelayer.evidence.intervals import mean
from onelayer.evidence.tables import ALL, interval_of, number, row_per, table, tidy
from onelayer.evidence.verdicts import NOT_REACHED, UpperBound, judge
from onelayer.papers.decision_lists.data import list_length

# The paper's symbols as key columns in words: `n` is the column of sample sizes in every table.
WORDS = {"L": "vocabulary", "n": "sequence_length", "m": "list_length", "shortest": "shortest_list"}
SIZES = list(WORDS.values())
THEOREM_1_KEYS = [*SIZES, "delta"]
ATTENTION_KEYS = [*SIZES, "delta", "zipf", "method", "deviation", "seed"]
# The method that Theorem 1 speaks of: the flow of the population loss.
POPULATION_FLOW = "full"
THEOREM_2_KEYS = [*SIZES, "delta", "epsilon", "trained_on"]
VALUE_KEYS = [*SIZES, "seed"]
# `start` is for readers; of what kind it is: `near` or `small`; whose c it has, and whether Theorem
# 2's hypotheses hold or fail there; `margin` is its delta. `none` where a start has none.
JOINT_KEYS = ["start", "start_kind", "c_of", "hypotheses", "margin", "trained_on", *SIZES, "seed"]

NOT_PERFECT = {"verdict": NOT_REACHED, "note": "not perfect within the steps allowed"}
TOO_LATE = {"verdict": NOT_REACHED, "note": "not reached within the steps allowed"}
NO_MASS = "delta above 1 is no probability mass: ours alone, not judged"
OURS = (
    "γ and δ are ours: the abstract only says that they depend on the least probability mass of "
    "'certain quantities'. γ = min over tokens a and list places k of P(s_j = a and a_k determines "
    "its label); δ = 1 in c = 4 n log(L) / δ unless stated."
)


def _rows(
    key: Mapping[str, object], values: Mapping[str, float], missing: Mapping[str, str]
) -> list[dict[str, object]]:
    """A row for each quantity; `missing` stands in those that have no number."""
    return [
        {**key, "quantity": quantity, "value": value} | (missing if np.isnan(value) else {})
        for quantity, value in values.items()
    ]


def _beside_bound(
    runs: pd.DataFrame, keys: Sequence[str], values_of: Callable[[dict], dict[str, float]]
) -> pd.DataFrame:
    """Quantities of every run, tidy; the first, its time, beside Theorem 1's bound.

    Of a method that the theorem does not speak of, the time is an analogue.
    """
    rows = []
    for run in runs.rename(columns=WORDS).to_dict("records"):
        time, *others = _rows({name: run[name] for name in keys}, values_of(run), NOT_PERFECT)
        compared = {"note": NO_MASS} if run["delta"] > 1 else {"published": run["bound"]}
        if run.get("method", POPULATION_FLOW) != POPULATION_FLOW:
            compared["kind"] = "analogue"
        rows += [compared | time, *others]
    return judge(tidy(rows, keys), {"t_star": UpperBound()})


@row_per(*THEOREM_1_KEYS)
def readable_theorem_1(by: pd.DataFrame, *key: float) -> dict:
    """A row per setting."""
    (*size, delta), value = key, by["value"]
    share = value["t_star_to_bound_ratio"]
    return {
        **_sizes(*size),
        "δ": f"{delta:.15g}",
        "t*": _significant(value["t_star"]),
        "γ": _significant(value["gamma"]),
        "bound": _significant(value["bound"], 4),
        "bound / t*": _significant(1 / share if share else np.nan, 2),
        "t* γ log L": number(value["t_star_gamma_log_l"], 4),
        "list order": number(value["order"], 3),
        "verdict": by.loc["t_star", "verdict"] or "–",
    }


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
        OURS,
        "The bound does not depend on δ, t* grows about as δ², so how loose the bound is depends "
        "on δ. Rows with δ above 1, which is no probability mass, are not judged.",
    ],
    readable=readable_theorem_1,
    reads={"solved": "solve_decision_lists.solved"},
)
def theorem_1(solved: pd.DataFrame) -> pd.DataFrame:
    """t* beside the bound (`reduced.solve_grids`), tidy, by `THEOREM_1_KEYS`."""
    ratios = "t_star_to_bound_ratio", "t_star_gamma_log_l"
    names = "t_star", "gamma", "bound", *ratios, "order"
    return _beside_bound(solved, THEOREM_1_KEYS, lambda row: {name: row[name] for name in names})


@row_per(*ATTENTION_KEYS)
def readable_attention_training(by: pd.DataFrame, *key: object) -> dict:
    """A row per run."""
    (*size, delta, zipf, method, deviation, seed), value = key, by["value"]
    return {
        **_sizes(*size),
        "δ": f"{delta:.15g}",
        "sequences": f"Zipf {zipf:.15g}" if zipf else "uniform",
        "method": method + (f", N(0, {deviation:.15g}^2)" if deviation else ""),
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
        "sequences: t* of flows over all sequences; with fresh ones, where the last token is late "
        "by chance, the median token, beside the exact median over tokens, which is below exact t* "
        "where lists are of unequal length.",
        "'certified' is the share of query tokens a with W[a_1, a] > ... > W[a_m, a] > all "
        "others, a proof for every sequence of distinct tokens; 'accuracy' is over all sequences "
        "for 'full' and over the last draw for the others.",
        "The bound is Theorem 1's, 4 m / (log(L) γ), for population flow; 'reproduced' means at "
        f"most that. The other methods, which the theorem does not speak of, are analogues. {OURS}",
    ],
    readable=readable_attention_training,
    reads={"runs": "train_decision_list_attention.runs"},
)
def attention_training(runs: pd.DataFrame) -> pd.DataFrame:
    """Every run on the full matrix W (`attention.summary`), tidy, by `ATTENTION_KEYS`."""
    always = "median_column_time", "gamma", "bound", "accuracy", "order", "certified"

    def values_of(run: dict) -> dict[str, float]:
        values = {name: run[name] for name in ("t_star", *always)}
        if not np.isnan(exact := run["exact_t_star"]):
            values["exact_t_star"], typical = exact, run["t_star"]
            if run["method"] in ("sampled", "descent"):
                typical, exact = run["median_column_time"], run["exact_median_time"]
                values["exact_median_time"] = exact
            # t* = 0: the first step, however short, is perfect
            values["time_to_exact_ratio"] = typical / exact if exact else float(typical == 0)
        return values | {"steps": run["steps"]}

    return _beside_bound(runs, ATTENTION_KEYS, values_of)


@row_per(*THEOREM_2_KEYS)
def readable_theorem_2(by: pd.DataFrame, *key: object) -> dict:
    """A row per start."""
    (*size, delta, epsilon, trained_on), value, observed = key, by["value"], by.loc["observed_step"]
    holds, held = value["hypotheses_hold"] > 0, by.loc["hypotheses_hold"]
    kept = "hold" if held["value"] == 1 else f"hold in {held['value']:.0%} of {held['n']:.0f} runs"
    first, last = value["window_first_step"], value["window_last_step"]
    alike = number(observed["low"], 1) == number(observed["high"], 1)
    return {
        **_sizes(*size),
        "δ": f"{delta:.15g}",
        "ε": f"{epsilon:.15g}",
        "sequences": trained_on,
        "c": number(value["c"], 0),
        "L₀": number(value["starting_loss"], 3),
        "A must exceed": number(value["least_a"], 3),
        "and stay below": number(value["largest_a"], 3),
        "hypotheses": kept if holds else "fail",
        "λ_max": _significant(value["lambda_max"]),
        "window of T (steps)": f"{first:.0f} to {last:.0f}" if holds else "–",
        "perfect at step, mean [95%]": (
            number(observed["value"], 1) if alike else interval_of(observed, 1)
        ),
        "latest": number(value["latest_step"], 0),
        "verdict": by.loc["latest_step", "verdict"] if holds else "nothing promised",
    }


@table(
    "decision_lists/theorem_2",
    "V, and W and V together",
    "table: Theorem 2",
    title="Decision lists, Theorem 2: W and V trained together near V = cP",
    notes=[
        "Gradient descent with η = 1 / λ_max from W = 0 and V = cP + noise of sup norm ε / 2, c = "
        "10 n² L₀ / δ + 4 ε n; means over seeds with 95% t-intervals. L₀ is the loss at each run's "
        "own start, noise and all, and with it c and A are the run's own. So is λ_max, which the "
        "abstract leaves open, as it does δ = 1: these are ours.",
        "The hypotheses ask for an A with sqrt(4 m L₀ / ε) < A < L₀ - 6 ε / n. Some ε meets them "
        "only where n L₀² > 162 m: with L₀ = log(n), as at cP, n of 19, 29, 38 or more for m of "
        "1, 2, 3; elsewhere nothing is promised and the row has no verdict. The noise decides for "
        "each run: where some meet the hypotheses, the row is of these alone.",
        "Where they hold, 'published' beside latest_step is the window's beginning 2 m L₀ / (A² "
        "η) with the largest A, a mean over the runs: the earliest T for which a perfect step up "
        "to T is promised; 'reproduced' means that the slowest run was perfect by then.",
        "'sequences': all, or how many were drawn and trained on; perfect then means on those and "
        "on as many fresh ones as the settings say, which is evidence and no proof, and an "
        "analogue of the population loss.",
    ],
    readable=readable_theorem_2,
    reads={"near": "train_decision_list_joint.near"},
)
def theorem_2(near: pd.DataFrame) -> pd.DataFrame:
    """Theorem 2's hypotheses, window and observed step, tidy, by `THEOREM_2_KEYS`.

    `latest_step` is the first perfect step of the seed that took longest: the theorem speaks of
    every start. Of `joint.near_runs`, those with Theorem 2's c are shown; where some of a start's
    runs meet the hypotheses, these alone. `hypotheses_hold` is their share.
    """
    rows = []
    window = {"first_step": "window_first_step", "last_step": "window_last_step"}
    with_its_c = near[near["scale"] == "theorem_2"].rename(columns=WORDS | window)
    for values, runs in with_its_c.groupby(THEOREM_2_KEYS, sort=False):
        key, met = dict(zip(THEOREM_2_KEYS, values, strict=True)), runs["holds"].astype(bool)
        share = {"quantity": "hypotheses_hold", "value": met.mean(), "n": len(met)}
        rows.append(key | share)
        runs = runs[met] if met.any() else runs
        constants = "c", "starting_loss", "largest_a", "least_a"
        for quantity in (*constants, "lambda_max", *window.values()):
            rows.append(key | {"quantity": quantity, "runs": len(runs)} | mean(runs[quantity]))
        rows += [key | row for row in _observed(runs, met.any(), key["trained_on"] == ALL)]
    return judge(tidy(rows, THEOREM_2_KEYS), {"latest_step": UpperBound()})


def _observed(runs: pd.DataFrame, holds: bool, population: bool) -> list[dict[str, object]]:
    """First perfect steps: the mean over the seeds that got there, and the latest of all.

    A seed that was not perfect within the steps allowed took longer: these count as its step where
    they reach into the window; otherwise its step is unknown.
    """
    perfect = runs["first_perfect"].notna()
    note = "" if perfect.all() else f"{perfect.sum()} of {len(runs)} seeds perfect in time"
    promise = "" if holds else "the hypotheses do not hold: nothing is promised"
    begins, steps = runs["window_first_step"], runs["steps"]
    both = {"note": "; ".join(filter(None, [note, promise]))}
    both["published"] = begins.mean() if holds else np.nan
    seen = runs["first_perfect"].fillna(steps.where(steps > begins))
    latest = {"value": seen.max(), "n": len(runs)} | both
    latest["kind"] = "" if population else "analogue"  # drawn sequences are no population loss
    # A seed that is known to be late decides, whatever became of the others.
    if seen.isna().any() and not seen.max() > both["published"]:
        latest |= {"value": np.nan, "verdict": NOT_REACHED}
    observed = mean(runs["first_perfect"][perfect]) | both
    observed |= {"runs": int(perfect.sum()), "verdict": "" if perfect.any() else NOT_REACHED}
    return [{"quantity": "observed_step"} | observed, {"quantity": "latest_step"} | latest]


@row_per(*SIZES)
def readable_value(by: pd.DataFrame, *size: int) -> dict:
    """A row per problem: mean over seeds, smallest to largest."""
    return {
        **_sizes(*size),
        "seeds": by["seed"].nunique(),
        "argmax of V is P": _spread(by, "argmax_accuracy", 3),
        "from step": _spread(by, "steps_to_argmax", 0),
        "centred cosine with P": _spread(by, "centred_cosine", 3),
        "task accuracy": _spread(by, "task_accuracy", 3),
        "most that any V can": _spread(by, "task_accuracy_ceiling", 3),
        "loss": _spread(by, "loss", 3),
    }


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
    """What V becomes at W = 0 (`joint.value_runs`), tidy, by `VALUE_KEYS`."""
    ceiling = ceilings.rename(columns=WORDS).set_index(VALUE_KEYS)["task_accuracy_ceiling"]
    rows = []
    for key, path in history.rename(columns=WORDS).groupby(VALUE_KEYS, sort=False):
        last = path.iloc[-1]
        values = {
            "argmax_accuracy": last["argmax_accuracy"],
            "steps_to_argmax": path.loc[path["argmax_accuracy"] == 1, "step"].min(),
            "centred_cosine": last["centred_cosine"],
            "task_accuracy": last["task_accuracy"],
            "task_accuracy_ceiling": ceiling[key],
            "loss": last["loss"],
        }
        rows += _rows(dict(zip(VALUE_KEYS, key, strict=True)), values, TOO_LATE)
    return tidy(rows, VALUE_KEYS)


@row_per("start", *SIZES)
def readable_joint(by: pd.DataFrame, start: str, *size: int) -> dict:
    """A row per start and size: mean over seeds, smallest to largest."""
    perfect = by.loc[["steps_to_perfect"], "value"].notna()
    return {
        "start": start,
        **_sizes(*size),
        "perfect": f"{perfect.sum()} of {len(perfect)} seeds",
        "at step": _spread(by, "steps_to_perfect", 0),
        "accuracy at the end": _spread(by, "accuracy", 4),
        "list order of W": _spread(by, "order", 3),
        "argmax of V is P": _spread(by, "argmax_accuracy", 3),
        "centred cosine of V and P": _spread(by, "centred_cosine", 3),
    }


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
    """Training W and V together (`joint`) seed by seed, tidy, by `JOINT_KEYS`."""
    rows = []
    at_the_end = ("accuracy", "order", "argmax_accuracy", "centred_cosine")
    for runs, quantities in ((near, at_the_end[:1]), (small, at_the_end)):
        for run in runs.rename(columns=WORDS).to_dict("records"):
            key = start_of(run) | {name: run[name] for name in VALUE_KEYS}
            values = {"steps_to_perfect": run["first_perfect"]}
            rows += _rows(key, values | {name: run[name] for name in quantities}, TOO_LATE)
    return tidy(rows, JOINT_KEYS)


def start_of(run: Mapping[str, object]) -> dict[str, str]:
    """What a run of `joint` started from, and how it was trained: the first of `JOINT_KEYS`.

    With Theorem 1's c, Theorem 2 promises nothing.
    """
    if "epsilon" in run:
        theorem = run["scale"].replace("theorem_", "Theorem ")
        delta = "" if run["delta"] == 1 else f", delta {run['delta']:.15g}"
        drawn = "" if run["trained_on"] == ALL else f", {run['trained_on']} sequences"
        start = f"near cP, c of {theorem}, epsilon {run['epsilon']:.15g}{delta}{drawn}"
        holds = ("hold" if run["holds"] else "fail") if run["scale"] == "theorem_2" else "none"
        also = {"margin": f"{run['delta']:.15g}", "trained_on": run["trained_on"]}
        kind = {"start_kind": "near", "c_of": run["scale"], "hypotheses": holds}
        return {"start": start, **kind, **also}
    name = {"gd": "gradient descent", "adam": "Adam"}[run["optimiser"]]
    start = f"entries N(0, {run['deviation']:.15g}^2), {name}, eta {run['eta']:.15g}"
    none = dict.fromkeys(("c_of", "hypotheses", "margin"), "none")
    return {"start": start, "start_kind": "small", **none, "trained_on": ALL}


def _sizes(L: int, n: int, m: int, shortest: int) -> dict[str, object]:
    """The first columns for readers."""
    return {"L": L, "n": n, "m": list_length(m, shortest)}


def _spread(by: pd.DataFrame, quantity: str, digits: int) -> str:
    """`0.88 (0.82 to 0.94)`; one number where all are alike to these digits."""
    values = by.loc[by.index == quantity, "value"].dropna()
    if values.empty:
        return "–"
    middle, low, high = (number(v, digits) for v in (values.mean(), values.min(), values.max()))
    return middle if low == high else f"{middle} ({low} to {high})"


def _significant(value: float, digits: int = 3) -> str:
    """A number with so many significant digits and no exponent; a dash where there is none."""
    if not np.isfinite(value):
        return "–"
    decimals = digits - 1 - int(np.floor(np.log10(abs(value)))) if value else 0
    return f"{value:,.{max(decimals, 0)}f}"
