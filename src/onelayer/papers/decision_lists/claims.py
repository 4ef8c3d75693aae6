"""The paper's claims on decision lists, each read from the tables: number, interval, verdict.

The paper publishes no numbers but its bounds. A table's rows that say the same thing at several
sizes are one claim with the worst of them; what varies by seed is a mean over seeds.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from onelayer.claims import Claim, alone, of_seeds, tabulated
from onelayer.intervals import share
from onelayer.papers.decision_lists.tables import SIZES
from onelayer.verdicts import NOT_REACHED, THEORY, Comparison, Direction, UpperBound

TABLES = [
    "theorem_1",
    "attention_training",
    "theorem_2",
    "value_from_uniform_attention",
    "joint_training",
]
THEOREM_1, THEOREM_2 = "section I.C.1 (Theorem 1)", "section I.C.2 (Theorem 2)"
IN_TIME = "gradient flow from W_0 = 0 and V = cP is perfect within time 4 M / (log(L) gamma)"
METHODS = {
    "full": "W alone, flow over all sequences",
    "sampled": "W alone, flow on fresh sequences",
    "descent": "W alone, SGD on fresh sequences",
}


def assemble(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """All claims, tidy.

    Args:
        tables: the paper's other tables by name, `TABLES`, as `onelayer.tables.read_csv` reads
            them.
    """
    return tabulated(
        [
            *_theorem_1(tables["theorem_1"]),
            *_training_w(tables["attention_training"]),
            *_factors(tables["attention_training"]),
            *_theorem_2(tables["theorem_2"]),
            *_value(tables["value_from_uniform_attention"]),
            *_joint(tables["joint_training"]),
        ]
    )


def _theorem_1(table: pd.DataFrame) -> list[Claim]:
    """The reduced flow beside the bound, by length of lists."""
    found = []
    allowed = table[table["delta"] <= 1]  # more is no probability mass
    for lists, own in allowed.groupby("list_length", sort=False):
        by = dict(list(own.groupby("quantity")))
        setting = f"exact flow, {_lists(lists)}, {len(by['t_star'])} sizes and δ"
        note = "largest t* / bound; the smallest is {:.2g}"
        found.append(_worst(by["t_star_to_bound_ratio"], IN_TIME, THEOREM_1, setting, note))
        order = by["order"]
        found.append(
            _least(order, "the decision list is learned", "section I.B", setting, "list_order",
                   "least share of list pairs with W[a_k, a] > W[a_{k+1}, a]")
        )  # fmt: skip
        scaled = by["t_star_gamma_log_l"]
        scaled = scaled[scaled["delta"] == 1]
        if len(scaled):
            low, high = scaled["value"].min(), scaled["value"].max()
            note = f"t* γ log L at δ = 1, mean over sizes; from {low:.3f} to {high:.3f}"
            claim = "the time is bounded in terms of 1 / (log(L) gamma)"
            number = alone(scaled["value"].mean(), len(scaled))
            at_one = f"exact flow, {_lists(lists)}, {len(scaled)} sizes"
            found.append(Claim(claim, THEOREM_1, at_one, "t_star_gamma_log_l", number, note))
    return found


def _training_w(table: pd.DataFrame) -> list[Claim]:
    """Runs on all of W beside the bound, by method and distribution."""
    found = []
    lists = table["list_length"].astype(str).str.contains("to").map({True: "un", False: ""})
    kinds = table.assign(lists=lists + "equal lists")
    for (method, zipf, lists), own in kinds.groupby(["method", "zipf", "lists"], sort=False):
        drawn = f"Zipf {zipf:g}" if zipf else "uniform"
        by = dict(list(own.groupby("quantity")))
        runs = len(by["t_star"])
        setting = f"{_method(method)}, {drawn}, {lists}, {runs} run" + "s" * (runs > 1)
        times = by["t_star"].assign(value=by["t_star"]["value"] / by["t_star"]["published"])
        apart = method not in METHODS
        claim, place = IN_TIME, THEOREM_1
        if apart or method == "descent":
            place += ", of which it does not speak"
        note = "largest t* / bound; the smallest is {:.2g}"
        found.append(_worst(times, claim, place, setting, note))
        perfect = "perfect classification of all sequences"
        note = "least share of query tokens whose column of W proves it"
        found.append(_least(by["certified"], perfect, place, setting, "certified", note))
    return found


def _factors(table: pd.DataFrame) -> list[Claim]:
    """How much longer W_K and W_Q take than their product."""
    apart = table[~table["method"].isin(METHODS) & (table["quantity"] == "time_to_exact_ratio")]
    claim = "the product W_K^T W_Q is replaced by a single matrix W"
    found = []
    for (*size, method), own in apart.groupby([*SIZES, "method"], sort=False):
        note = "time of W_K and W_Q apart / time of W"
        found.append(
            Claim(claim, "section I.A", f"{_method(method)}, {_size(size)}", "time_of_factors",
                  of_seeds(own["value"], 0), note, missing=_unreached(own))
        )  # fmt: skip
    return found


def _theorem_2(table: pd.DataFrame) -> list[Claim]:
    """The step at which W and V were perfect beside the window, where the hypotheses hold."""
    claim = (
        "near V = cP gradient descent for T steps of the window [2 m L_0 / (A^2 eta), "
        "epsilon / (2 eta)] meets a step with perfect classification"
    )
    found = []
    for (*size, epsilon, drawn), own in table.groupby(
        [*SIZES, "epsilon", "trained_on"], sort=False
    ):
        by = own.set_index("quantity")
        if by.loc["hypotheses_hold", "value"] != 1:
            continue
        step, first = by.loc["observed_step"], by.loc["window_first_step", "value"]
        sequences = "" if drawn == "all" else f", {drawn} sequences"
        note = f"first perfect step; the window: {first:,.0f} to "
        note += f"{by.loc['window_last_step', 'value']:,.0f}"
        setting = f"{_size(size)}, ε {epsilon:g}{sequences}"
        missing = _unreached(own[own["quantity"] == "observed_step"])
        found.append(
            Claim(claim, THEOREM_2, setting, "first_perfect_step", step, note,
                  compared=UpperBound(), published=first, missing=missing)
        )  # fmt: skip
    return found


def _value(table: pd.DataFrame) -> list[Claim]:
    """What V becomes under uniform attention, and what it cannot do there."""
    found = []
    for size, own in table.groupby(SIZES, sort=False):
        seeds = own.pivot(index="seed", columns="quantity", values="value")
        chance = 1 / size[0]
        pushed = "uniform attention (W = 0) is sufficient to push V in the direction of P"
        crucial = "learning the attention head is crucial in solving the task"
        for claim, place, quantity, side, note in (
            (pushed, "section II", "argmax_accuracy", Direction(chance, 1),
             "share of tokens b whose largest V[., b] is at π(b); by chance 1 / L"),
            (pushed, "section II", "centred_cosine", Direction(0, 1),
             "cosine of V and P, each minus its mean"),
            (crucial, "section I", "task_accuracy_ceiling", Direction(1, -1),
             "the most that any V can under uniform attention"),
        ):  # fmt: skip
            number = of_seeds(seeds[quantity], -1 if quantity == "centred_cosine" else 0, 1)
            setting = f"V alone, {_size(size)}"
            found.append(Claim(claim, place, setting, quantity, number, note, side))
    return found


def _joint(table: pd.DataFrame) -> list[Claim]:
    """How many runs on W and V were perfect: near cP, and from small random starts."""
    steps = table[table["quantity"] == "steps_to_perfect"]
    near = steps["start"].str.startswith("near")
    theorem = steps["start"].str.extract(r"c of (Theorem \d)", expand=False)
    kinds = steps.assign(kind=np.where(near, "near cP, c of " + theorem.fillna(""), steps["start"]))
    found = []
    for (kind, *size), own in kinds.groupby(["kind", *SIZES], sort=False):
        of_near, starts = kind.startswith("near"), own["start"].nunique()
        if of_near and starts == 1:
            continue  # of Theorem 2's claims
        claim, place = "local convergence: from a 'good enough' initialization", "section I.C.2"
        if not of_near:
            claim, place = "full convergence from small, random initialization", "section II, open"
        perfect = own["value"].notna()
        last = f"; at step {own['value'].max():.0f} at the latest" if perfect.any() else ""
        note = f"share of runs that were perfect within the steps allowed{last}"
        if of_near:
            note += f"; {starts} values of ε together, which do not meet the hypotheses"
        number = share(int(perfect.sum()), len(own))
        setting = f"{kind}, {_size(size)}"
        found.append(Claim(claim, place, setting, "share_perfect", number, note))
    return found


def _worst(rows: pd.DataFrame, claim: str, place: str, setting: str, note: str) -> Claim:
    """The largest of some shares of a bound: at most 1."""
    note = note.format(rows["value"].min())
    number = alone(rows["value"].max(), len(rows))
    return _judged(rows, claim, place, setting, "time_to_bound_ratio", number, note, UpperBound())


def _least(
    rows: pd.DataFrame, claim: str, place: str, setting: str, quantity: str, note: str
) -> Claim:
    """The least of some shares that must all be 1."""
    number = alone(rows["value"].min(), len(rows))
    return _judged(rows, claim, place, setting, quantity, number, note, THEORY)


def _judged(
    rows: pd.DataFrame,
    claim: str,
    place: str,
    setting: str,
    quantity: str,
    number: Mapping[str, float],
    note: str,
    compared: Comparison,
) -> Claim:
    missing = _unreached(rows)
    return Claim(
        claim, place, setting, quantity, number, note,
        compared=compared, published=1.0, missing=missing,
    )  # fmt: skip


def _unreached(rows: pd.DataFrame) -> str:
    """Why a claim cannot be judged: some of its rows did not get there."""
    count = (rows["verdict"] == NOT_REACHED).sum()
    return f"{count} of {len(rows)} not perfect within the steps allowed" if count else ""


def _method(method: str) -> str:
    start = method.partition(", ")[2]
    return METHODS.get(method, f"W_K and W_Q apart, from {start}")


def _size(size: Sequence) -> str:
    L, n, lists = size
    return f"L {L}, n {n}, {_lists(lists)}"


def _lists(length: int | str) -> str:
    return f"lists of {length}"


TITLE = "Decision lists: the paper's claims"
NOTES = [
    "Read from the tables of Theorem 1, of training W, of Theorem 2, of V alone, and of W and V "
    "together, which have every size and seed. Without an interval: the worst of the sizes and "
    "runs that 'seeds' counts.",
    "γ and δ are ours, as those tables say: the abstract only says that they depend on the least "
    "probability mass of 'certain quantities'.",
    "'lists of 1 to 4': of unequal length m ≤ M, each length for as many tokens. Columns of W do "
    "not know of each other, so that they take as long as the slowest length alone.",
    "W_K and W_Q apart is the paper's first equation. At W_K = W_Q = 0 the gradient of both is 0: "
    "they start from small random entries, and take the longer the smaller those are.",
]
