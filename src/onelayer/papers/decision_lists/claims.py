"""The paper's claims on decision lists, each read from the tables: number, interval, verdict.

The paper publishes no numbers but its bounds. A theorem speaks of every size, margin and start: its
claim is the worst of them. What is said of means over seeds is decided at the worst size.
"""

from collections.abc import Callable, Sequence
from itertools import chain

import pandas as pd

from onelayer.evidence.claims import BEYOND, NOTES, Claim, alone, of_seeds, readable, tabulated
from onelayer.evidence.intervals import share
from onelayer.evidence.tables import ALL, table
from onelayer.evidence.verdicts import NOT_REACHED, Direction, Number, UpperBound
from onelayer.papers.decision_lists.data import list_length
from onelayer.papers.decision_lists.tables import POPULATION_FLOW, SIZES

THEOREM_1, THEOREM_2 = "section I.C.1 (Theorem 1)", "section I.C.2 (Theorem 2)"
IN_TIME = "gradient flow from W_0 = 0 and V = cP is perfect within time 4 M / (log(L) gamma)"
PERFECT = "perfect classification of all sequences"
NEAR = (
    "near V = cP gradient descent for T steps of the window [2 m L_0 / (A^2 eta), "
    "epsilon / (2 eta)] meets a step with perfect classification"
)
PUSHED = "uniform attention (W = 0) is sufficient to push V in the direction of P"
CRUCIAL = "learning the attention head is crucial in solving the task"
METHODS = {
    POPULATION_FLOW: "W alone, flow over all sequences",
    "sampled": "W alone, flow on fresh sequences",
    "descent": "W alone, SGD on fresh sequences",
    "factored": "W_K and W_Q apart",
}
# Of an accuracy and of a cosine, whose whole scale is 1, a tenth would matter.
TENTH = 0.1


@table(
    "decision_lists/claims",
    "Claims",
    "table: claims",
    target="table_decision_lists_claims",
    title="Decision lists: the paper's claims",
    notes=[
        "Read from the tables of Theorem 1, of training W, of Theorem 2, of V alone, and of W and "
        "V together, which have every size and seed. Without an interval: the worst of the sizes "
        "and runs that 'seeds' counts; what a theorem says of all must hold of the worst.",
        "γ and δ are ours, as those tables say: the abstract only says that they depend on the "
        "least probability mass of 'certain quantities'. δ above 1, which is no probability mass, "
        "is left out.",
        "'lists of 1 to 4': of unequal length m ≤ M, each length for as many tokens. Columns of W "
        "do not know of each other, so that they take as long as the slowest length alone.",
        "W_K and W_Q apart is the paper's first equation, which its theorems replace by W: an "
        "analogue, as is all that is trained on drawn sequences in place of the population loss. "
        "At W_K = W_Q = 0 the gradient of both is 0: they start from small random entries, and "
        "take the longer the smaller those are.",
        *NOTES,
    ],
    readable=readable,
    reads={
        "theorem_1": "tables/decision_lists/theorem_1.csv",
        "attention_training": "tables/decision_lists/attention_training.csv",
        "theorem_2": "tables/decision_lists/theorem_2.csv",
        "value_from_uniform_attention": "tables/decision_lists/value_from_uniform_attention.csv",
        "joint_training": "tables/decision_lists/joint_training.csv",
    },
)
def decision_list_claims(
    theorem_1: pd.DataFrame,
    attention_training: pd.DataFrame,
    theorem_2: pd.DataFrame,
    value_from_uniform_attention: pd.DataFrame,
    joint_training: pd.DataFrame,
) -> pd.DataFrame:
    """All claims, tidy, from the paper's other tables."""
    return tabulated(
        [
            *_theorem_1(theorem_1),
            *_training_w(attention_training),
            *_factors(attention_training),
            *_theorem_2(theorem_2),
            *_value(value_from_uniform_attention),
            *_joint(joint_training),
        ]
    )


def _theorem_1(table: pd.DataFrame) -> list[Claim]:
    """The reduced flow beside the bound: over all sizes and margins, then by length of lists."""
    allowed = _allowed(table)
    if allowed.empty:
        return []
    found = _exact_flow(allowed, "all lists", "largest_time_to_bound_ratio", "least_list_order")
    for lengths, own in allowed.groupby(SIZES[2:], sort=False):
        lists = _lists(*lengths)
        found += _exact_flow(own, lists, "time_to_bound_ratio", "list_order")
        at_one = own[(own["quantity"] == "t_star_gamma_log_l") & (own["delta"] == 1)]["value"]
        if len(at_one):
            note = "t* γ log L at δ = 1, mean over sizes; "
            note += f"from {at_one.min():.3f} to {at_one.max():.3f}"
            claim = "the time is bounded in terms of 1 / (log(L) gamma)"
            setting = f"exact flow, {lists}, {len(at_one)} sizes"
            number = alone(at_one.mean(), len(at_one))
            found.append(Claim(claim, THEOREM_1, setting, "t_star_gamma_log_l", number, note))
    return found


def _exact_flow(rows: pd.DataFrame, lists: str, time: str, order: str) -> list[Claim]:
    """The largest t* / bound and the least share of ordered pairs, under the quantities given."""
    by = dict(list(rows.groupby("quantity")))
    times, missing = by["t_star"], _unreached(by["t_star"])
    setting = f"exact flow, {lists}, {len(times)} sizes and δ"
    pairs = "least share of list pairs with W[a_k, a] > W[a_{k+1}, a]"
    return [
        _within_bound(
            IN_TIME, THEOREM_1, setting, time, by["t_star_to_bound_ratio"]["value"], missing
        ),
        _all_of_them(
            "the decision list is learned", "section I.B", setting, order, by["order"], pairs,
            missing,
        ),
    ]  # fmt: skip


def _training_w(table: pd.DataFrame) -> list[Claim]:
    """Runs on all of W beside the bound, by method and distribution; first those together."""
    allowed = _allowed(table)
    allowed = allowed.assign(equal=_equal_lists(allowed))
    found: list[Claim] = []
    for (method, equal), own in allowed.groupby(["method", "equal"], sort=False):
        found += _runs(own, method, equal, "all distributions and starts", _together(method, equal))
    for (method, zipf, deviation, equal), own in allowed.groupby(
        ["method", "zipf", "deviation", "equal"], sort=False
    ):
        drawn = f"Zipf {zipf:.15g}" if zipf else "uniform"
        drawn = f"from N(0, {deviation:.15g}^2), {drawn}" if deviation else drawn
        found += _runs(own, method, equal, drawn, "")
    return found


def _together(method: str, equal: bool) -> str:
    """What the quantities of all runs of a method are called, so that each is there once."""
    return f"_{method}" if equal else f"_{method}_unequal_lists"


def _runs(rows: pd.DataFrame, method: str, equal: bool, drawn: str, name: str) -> list[Claim]:
    """The largest time / bound of some runs, and the least share of proven query tokens.

    Args:
        rows: of those runs.
        method: theirs; Theorem 1 speaks of the population flow alone.
        equal: whether all lists have as many tokens.
        drawn: distribution and start, in words.
        name: what is added to the names of the quantities.
    """
    by = dict(list(rows.groupby("quantity")))
    times, missing = by["t_star"], _unreached(by["t_star"])
    shares = times["value"] / times["published"]
    lists = "equal lists" if equal else "unequal lists"
    runs = f"{len(times)} run" + "s" * (len(times) > 1)
    setting = f"{METHODS[method]}, {drawn}, {lists}, {runs}"
    own = method == POPULATION_FLOW
    place, kind = (THEOREM_1, None) if own else (BEYOND, "analogue")
    proven = "least share of query tokens whose column of W proves it"
    return [
        _within_bound(
            IN_TIME, place, setting, f"time_to_bound_ratio{name}", shares, missing, kind or "bound"
        ),
        _all_of_them(
            PERFECT, place, setting, f"certified{name}", by["certified"], proven, missing,
            kind or "theory",
        ),
    ]  # fmt: skip


def _factors(table: pd.DataFrame) -> list[Claim]:
    """How much longer W_K and W_Q take than their product."""
    allowed = _allowed(table)
    ratios = allowed["quantity"] == "time_to_exact_ratio"
    apart = allowed[(allowed["method"] == "factored") & ratios]
    claim = "the product W_K^T W_Q is replaced by a single matrix W"
    found = []
    keys = [*SIZES, "deviation", "delta"]
    for (*size, deviation, delta), own in apart.groupby(keys, sort=False):
        note = "time of W_K and W_Q apart / time of W"
        setting = (
            f"{METHODS['factored']}, from N(0, {deviation:.15g}^2), {_size(size)}{_mass(delta)}"
        )
        number = of_seeds(own["value"], 0)
        found.append(
            Claim(claim, "section I.A", setting, "time_of_factors", number, note,
                  missing=_unreached(own))
        )  # fmt: skip
    return found


def _theorem_2(table: pd.DataFrame) -> list[Claim]:
    """The latest perfect step beside the window, where the hypotheses hold; first the worst."""
    worst: dict[bool, list[tuple[float, int, str]]] = {True: [], False: []}
    found = []
    for (*size, epsilon, delta, drawn), own in _allowed(table).groupby(
        [*SIZES, "epsilon", "delta", "trained_on"], sort=False
    ):
        by = own.set_index("quantity")
        if by.loc["hypotheses_hold", "value"] != 1:
            continue
        step, first = by.loc["latest_step"], by.loc["window_first_step", "value"]
        population = str(drawn) == ALL
        missing = _unreached(own[own["quantity"] == "latest_step"])
        worst[population].append((step["value"] / first, int(step["n"]), missing))
        note = f"first perfect step of the slowest seed; the window: {first:,.0f} to "
        note += f"{by.loc['window_last_step', 'value']:,.0f}"
        setting = f"{_size(size)}, ε {epsilon:.15g}{_mass(delta)}"
        setting += "" if population else f", {drawn} sequences"
        found.append(
            Claim(NEAR, THEOREM_2, setting, "latest_perfect_step", alone(step["value"], step["n"]),
                  note, compared=UpperBound("bound" if population else "analogue"),
                  published=first, missing=missing)
        )  # fmt: skip
    return [
        *(_latest(worst[p], p) for p in (True, False) if worst[p]),
        *found,
    ]


def _latest(starts: Sequence[tuple[float, int, str]], population: bool) -> Claim:
    """The largest share of its window's beginning that any run of some starts took."""
    shares, runs, missing = zip(*starts, strict=True)
    which = "population loss" if population else "sequences drawn once"
    return Claim(
        NEAR,
        THEOREM_2 if population else BEYOND,
        f"{which}, {len(shares)} starts that meet the hypotheses",
        f"largest_step_to_window_ratio{'' if population else '_drawn_sequences'}",
        alone(max(shares), sum(runs)),
        "first perfect step / the window's beginning, a mean over the start's seeds; the largest "
        "of all runs",
        compared=UpperBound("bound" if population else "analogue"),
        published=1.0,
        missing="; ".join(filter(None, missing)),
    )


def _value(table: pd.DataFrame) -> list[Claim]:
    """What V becomes under uniform attention, and what it cannot do there; first the worst size."""
    sizes = [
        (size, own.pivot(index="seed", columns="quantity", values="value"))
        for size, own in table.groupby(SIZES, sort=False)
    ]
    if not sizes:
        return []
    worst = [
        _of_value("centred_cosine", *_worst_size(sizes, "centred_cosine", min), "least_"),
        _of_value(
            "task_accuracy_ceiling", *_worst_size(sizes, "task_accuracy_ceiling", max), "largest_"
        ),
    ]
    quantities = ("argmax_accuracy", "centred_cosine", "task_accuracy_ceiling")
    return [*worst, *(_of_value(q, size, seeds) for size, seeds in sizes for q in quantities)]


Seeds = tuple[Sequence[int], pd.DataFrame]


def _worst_size(sizes: Sequence[Seeds], quantity: str, choose: Callable) -> Seeds:
    """The first of the sizes whose mean over seeds is the least or the largest."""
    return choose(sizes, key=lambda one: one[1][quantity].mean())


def _of_value(quantity: str, size: Sequence[int], seeds: pd.DataFrame, worst: str = "") -> Claim:
    """The mean over seeds of one quantity of V alone.

    What is said of P is judged from chance or from 0, what is said of attention from 1, and a tenth
    of the way there is what matters.

    Args:
        quantity: of `tables.value_from_uniform_attention`.
        size: the values of `SIZES`.
        seeds: [seeds, quantities].
        worst: before the quantity's name, where this is the worst of all sizes.
    """
    chance = 1 / size[0]
    claim, place, side, note = {
        "argmax_accuracy": (
            PUSHED, "section II", Direction(chance, 1, TENTH * (1 - chance)),
            "share of tokens b whose largest V[., b] is at π(b); by chance 1 / L",
        ),
        "centred_cosine": (
            PUSHED, "section II", Direction(0, 1, TENTH),
            "cosine of V and P, each minus its mean",
        ),
        "task_accuracy_ceiling": (
            CRUCIAL, "section I", Direction(1, -1, TENTH),
            "the most that any V can under uniform attention",
        ),
    }[quantity]  # fmt: skip
    number = of_seeds(seeds[quantity], -1 if quantity == "centred_cosine" else 0, 1)
    setting = f"V alone, {_size(size)}"
    if worst:
        setting, note = "V alone, the worst size", f"{note}; at {_size(size)}"
    return Claim(claim, place, setting, f"{worst}{quantity}", number, note, side)


def _joint(table: pd.DataFrame) -> list[Claim]:
    """How many runs on W and V were perfect where no theorem speaks; described, not judged."""
    steps = table[(table["quantity"] == "steps_to_perfect") & (table["hypotheses"] != "hold")]
    near = steps[steps["start_kind"] == "near"].groupby(["c_of", *SIZES], sort=False)
    small = steps[steps["start_kind"] == "small"].groupby(["start", *SIZES], sort=False)
    found = []
    for (named, *size), own in chain(near, small):
        of_near = (own["start_kind"] == "near").all()
        claim, place = "local convergence: from a 'good enough' initialization", "section I.C.2"
        setting = f"near cP, c of {named.replace('theorem_', 'Theorem ')}"
        if not of_near:
            claim, place = "full convergence from small, random initialization", "section II, open"
            setting = named
        perfect, runs = own["value"].notna(), len(own)
        # Values of ε are chosen, so that runs over several are no draws of one share.
        number = alone(perfect.mean(), runs) if of_near else share(int(perfect.sum()), runs)
        last = f"; at step {own['value'].max():.0f} at the latest" if perfect.any() else ""
        note = f"share of runs that were perfect within the steps allowed{last}"
        if of_near:
            starts = own["start"].nunique()
            note += f"; {starts} values of ε together, which do not meet the hypotheses"
        setting = f"{setting}, {_size(size)}"
        found.append(Claim(claim, place, setting, "share_perfect", number, note))
    return found


def _within_bound(
    claim: str,
    place: str,
    setting: str,
    quantity: str,
    shares: pd.Series,
    missing: str,
    kind: str = "bound",
) -> Claim:
    """The largest of some times in units of their bounds: at most 1.

    One above decides, whatever became of those that were not perfect in time.
    """
    missing = missing if not shares.max() > 1 else ""
    note = f"largest time / bound; the smallest is {shares.min():.2g}"
    return Claim(
        claim, place, setting, quantity, alone(shares.max(), len(shares)), note,
        compared=UpperBound(kind), published=1.0, missing=missing,
    )  # fmt: skip


def _all_of_them(
    claim: str,
    place: str,
    setting: str,
    quantity: str,
    shares: pd.DataFrame,
    note: str,
    missing: str,
    kind: str = "theory",
) -> Claim:
    """The least of some shares that must all be 1: they count, so that no tolerance is due."""
    number = alone(shares["value"].min(), len(shares))
    return Claim(
        claim, place, setting, quantity, number, note,
        compared=Number(None, kind=kind), published=1.0, missing=missing,
    )  # fmt: skip


def _allowed(table: pd.DataFrame) -> pd.DataFrame:
    """Rows whose delta can be a probability mass."""
    return table[table["delta"] <= 1]


def _unreached(rows: pd.DataFrame) -> str:
    """Why a claim cannot be judged: some of its rows did not get there."""
    count = (rows["verdict"] == NOT_REACHED).sum()
    return f"{count} of {len(rows)} not perfect within the steps allowed" if count else ""


def _equal_lists(table: pd.DataFrame) -> pd.Series:
    """Whether all lists of a row's problem have as many tokens."""
    return table["shortest_list"] == table["list_length"]


def _size(size: Sequence[int]) -> str:
    L, n, longest, shortest = size
    return f"L {L}, n {n}, {_lists(longest, shortest)}"


def _mass(delta: float) -> str:
    """δ where it is not 1, as it is unless settings say otherwise."""
    return "" if delta == 1 else f", δ {delta:.15g}"


def _lists(longest: int, shortest: int) -> str:
    return f"lists of {list_length(longest, shortest)}"
