"""The paper's claims on decision lists, each read from the tables: number, interval, verdict."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from onelayer.evidence.claims import BEYOND, NOTES, Claim, alone, of_seeds, readable, tabulated
from onelayer.evidence.intervals import share, worst
from onelayer.evidence.power_laws import jackknifed
from onelayer.evidence.tables import ALL, table
from onelayer.evidence.verdicts import NOT_REACHED, TENTH, THEORY, Direction, Number, UpperBound
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
VALUE_NOTES = {
    "argmax_accuracy": "share of tokens b whose largest V[., b] is at π(b); by chance 1 / L",
    "centred_cosine": "cosine of V and P, each minus its mean",
    "task_accuracy_ceiling": "the most that any V can under uniform attention",
}


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
    """All claims, tidy, from the paper's other tables; a δ above 1 is no probability mass."""
    theorem_1, attention_training, theorem_2 = (
        table[table["delta"] <= 1] for table in (theorem_1, attention_training, theorem_2)
    )
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
    if table.empty:
        return []
    ordered = "the decision list is learned", "section I.B", "order"
    pairs = "least share of list pairs with W[a_k, a] > W[a_{k+1}, a]"
    claims = []
    by_length = [(_lists(*key), rows) for key, rows in table.groupby(SIZES[2:], sort=False)]
    for lists, rows in [("all lists", table), *by_length]:
        by = dict(list(rows.groupby("quantity")))
        setting = f"exact flow, {lists}, {len(by['t_star'])} sizes and δ"
        names = "largest_time_to_bound_ratio", "least_list_order"
        names = names if rows is table else ("time_to_bound_ratio", "list_order")
        ratios = by["t_star_to_bound_ratio"]["value"]
        claims += _worst(by, ratios, THEOREM_1, setting, names, (*ordered, pairs))
        at_one = rows[(rows["quantity"] == "t_star_gamma_log_l") & (rows["delta"] == 1)]["value"]
        if rows is not table and len(at_one):
            note = "t* γ log L at δ = 1, mean over sizes; "
            note += f"from {at_one.min():.3f} to {at_one.max():.3f}"
            claim = "the time is bounded in terms of 1 / (log(L) gamma)"
            setting = f"exact flow, {lists}, {len(at_one)} sizes"
            number = alone(at_one.mean(), len(at_one))
            claims.append(Claim(claim, THEOREM_1, setting, "t_star_gamma_log_l", number, note))
    return claims


def time_exponents(solved: pd.DataFrame) -> list[Claim]:
    """Exponents of t* as a power of gamma, log L and M together, beside those of the bound.

    The theorem bounds the time and says nothing of how it grows: whether it grows as its bound is
    asked beyond it, and within a tenth counts. gamma follows from L, n and M, and falls with L, so
    that its exponent and that of log L are told apart by n and M alone: only together they mean
    something. Times are exact: the interval says how far exponents hang on the sizes chosen. Of
    what was solved those with lists of equal length count, at delta = 1.
    """
    rows = solved[(solved["delta"] == 1) & (solved["shortest"] == solved["m"])]
    x = np.column_stack([rows["gamma"], np.log(rows["L"]), rows["m"]])
    sizes = list(zip(rows["L"], rows["n"], strict=True))
    slopes = jackknifed(rows["t_star"].to_numpy(), x, sizes)
    setting = f"exact flow, {len(rows)} problems of {len(set(sizes))} sizes (L, n), δ 1"
    note = "slope of log t* with all three together; no sampling: jackknife over sizes (L, n)"
    quantities = {"exponent_of_gamma": -1.0, "exponent_of_log_L": -1.0, "exponent_of_M": 1.0}
    return [
        Claim("the time to be perfect grows as its bound 4 M / (log(L) gamma)", BEYOND, setting,
              quantity, number, note, compared=THEORY, published=exponent, tolerance=TENTH,
              kind="analogue", keys={"level": np.nan, "nearest": 1})
        for (quantity, exponent), number in zip(quantities.items(), slopes, strict=True)
    ]  # fmt: skip


def _training_w(table: pd.DataFrame) -> list[Claim]:
    """Runs on all of W beside the bound, by method and distribution; first those together.

    Theorem 1 speaks of the population flow alone.
    """
    table = table.assign(equal=table["shortest_list"] == table["list_length"])
    proven = "least share of query tokens whose column of W proves it"
    claims = []
    for together in (True, False):
        keys = ["method", "equal"] if together else ["method", "zipf", "deviation", "equal"]
        for _, rows in table.groupby(keys, sort=False):
            method, equal, zipf, deviation = rows.iloc[0][["method", "equal", "zipf", "deviation"]]
            by = dict(list(rows.groupby("quantity")))
            times = by["t_star"]
            drawn = f"Zipf {zipf:.15g}" if zipf else "uniform"
            drawn = f"from N(0, {deviation:.15g}^2), {drawn}" if deviation else drawn
            drawn = "all distributions and starts" if together else drawn
            lists = "equal lists" if equal else "unequal lists"
            runs = f"{len(times)} run" + "s" * (len(times) > 1)
            setting = f"{METHODS[method]}, {drawn}, {lists}, {runs}"
            # Findings pick these by the name of the method, which is there once.
            suffix = (f"_{method}" + "_unequal_lists" * (not equal)) * together
            names = f"time_to_bound_ratio{suffix}", f"certified{suffix}"
            place, kind = (THEOREM_1, "") if method == POPULATION_FLOW else (BEYOND, "analogue")
            ratios, perfect = times["value"] / times["published"], (PERFECT, place, "certified")
            claims += _worst(by, ratios, place, setting, names, (*perfect, proven), kind)
    return claims


def _worst(
    by: Mapping[str, pd.DataFrame],
    ratios: pd.Series,
    place: str,
    setting: str,
    names: Sequence[str],
    shares_of: tuple[str, str, str, str],
    kind: str = "",
) -> list[Claim]:
    """The largest of some times in units of their bounds, `ratios`, and the least of some shares.

    A time above its bound decides, whatever became of those that were not perfect in time. Shares
    must all be 1, and are counts, so that no tolerance is due; `shares_of` are their claim, place
    and quantity, and what they are. `names` are of both.
    """
    claim, of_shares, quantity, what = shares_of
    missing, shares = _unreached(by["t_star"]), by[quantity]["value"]
    late, note = ratios.max() > 1, f"largest time / bound; the smallest is {ratios.min():.2g}"
    time = names[0], alone(ratios.max(), len(ratios)), note
    share = names[1], alone(shares.min(), len(shares)), what
    bound, all_of_them = UpperBound(kind or "bound"), Number(None, kind=kind or "theory")
    return [
        Claim(IN_TIME, place, setting, *time, None, bound, 1.0, missing="" if late else missing),
        Claim(claim, of_shares, setting, *share, None, all_of_them, 1.0, missing=missing),
    ]


def _factors(table: pd.DataFrame) -> list[Claim]:
    """How much longer W_K and W_Q take than their product."""
    ratios = table["quantity"] == "time_to_exact_ratio"
    apart = table[(table["method"] == "factored") & ratios]
    claim = "the product W_K^T W_Q is replaced by a single matrix W"
    note = "time of W_K and W_Q apart / time of W"
    keys, claims = [*SIZES, "deviation", "delta"], []
    for (*size, deviation, delta), rows in apart.groupby(keys, sort=False):
        start = f"from N(0, {deviation:.15g}^2), {_size(size)}{_mass(delta)}"
        where = "section I.A", f"{METHODS['factored']}, {start}", "time_of_factors"
        number, missing = of_seeds(rows["value"], 0), _unreached(rows)
        claims.append(Claim(claim, *where, number, note, missing=missing))
    return claims


def _theorem_2(table: pd.DataFrame) -> list[Claim]:
    """The slowest of the runs that meet the hypotheses beside their window; first the worst.

    Sequences that are drawn once are no population loss: an analogue.
    """
    keys, claims = [*SIZES, "epsilon", "delta", "trained_on"], []
    for (*size, epsilon, delta, drawn), rows in table.groupby(keys, sort=False):
        by = rows.set_index("quantity")
        if by.loc["hypotheses_hold", "value"] == 0:
            continue
        latest, first = by.loc["latest_step"], by.loc["window_first_step", "value"]
        population = str(drawn) == ALL
        setting = f"{_size(size)}, ε {epsilon:.15g}{_mass(delta)}"
        setting += "" if population else f", {drawn} sequences"
        note = "first perfect step of the slowest run that meets the hypotheses; the window: "
        note += f"{first:,.0f} to {by.loc['window_last_step', 'value']:,.0f}"
        step = "latest_perfect_step", alone(latest["value"], latest["n"]), note
        bound = UpperBound("bound" if population else "analogue")
        missing = _unreached(by.loc[["latest_step"]])
        claims.append(Claim(NEAR, THEOREM_2, setting, *step, None, bound, first, missing=missing))
    worst = []
    for kind, place, loss, name in (
        ("bound", THEOREM_2, "population loss", ""),
        ("analogue", BEYOND, "sequences drawn once", "_drawn_sequences"),
    ):
        starts = [claim for claim in claims if claim.compared.kind == kind]
        if not starts:
            continue
        shares = [claim.estimate["value"] / claim.published for claim in starts]
        runs = [claim.estimate["n"] for claim in starts]
        setting = f"{loss}, {len(starts)} starts, those runs that meet the hypotheses"
        note = "first perfect step / the window's beginning, a mean over the start's runs; the "
        note += "largest of all runs"
        missing = "; ".join(filter(None, (claim.missing for claim in starts)))
        share = f"largest_step_to_window_ratio{name}", alone(max(shares), sum(runs)), note
        bound = UpperBound(kind)
        worst.append(Claim(NEAR, place, setting, *share, None, bound, 1.0, missing=missing))
    return worst + claims


def _value(table: pd.DataFrame) -> list[Claim]:
    """Means over seeds of what V alone becomes, and what it cannot do; first the worst size.

    What is said of P is judged from chance or from 0, what is said of attention from 1, and a tenth
    of the way there is what matters.
    """
    of_size = {
        size: rows.pivot(index="seed", columns="quantity", values="value")
        for size, rows in table.groupby(SIZES, sort=False)
    }
    numbers = {
        quantity: [
            of_seeds(seeds[quantity], -1 if quantity == "centred_cosine" else 0, 1)
            for seeds in of_size.values()
        ]
        for quantity in VALUE_NOTES
    }
    chosen = [
        ("least_", "centred_cosine", *worst(numbers["centred_cosine"], 1)),
        ("largest_", "task_accuracy_ceiling", *worst(numbers["task_accuracy_ceiling"], -1)),
        *(("", of, at, numbers[of][at]) for at in range(len(of_size)) for of in VALUE_NOTES),
    ]
    claims = []
    for extreme, quantity, at, number in chosen:
        size = list(of_size)[at]
        chance = 1 / size[0]
        claim, place, reference, sign = {
            "argmax_accuracy": (PUSHED, "section II", chance, 1),
            "centred_cosine": (PUSHED, "section II", 0, 1),
            "task_accuracy_ceiling": (CRUCIAL, "section I", 1, -1),
        }[quantity]
        setting, note = f"V alone, {_size(size)}", VALUE_NOTES[quantity]
        if extreme:
            setting, note = "V alone, the worst size", f"{note}; at {_size(size)}"
        matters = TENTH * (1 - chance) if quantity == "argmax_accuracy" else TENTH
        side = Direction(reference, sign, matters)
        claims.append(Claim(claim, place, setting, f"{extreme}{quantity}", number, note, side))
    return claims


def _joint(table: pd.DataFrame) -> list[Claim]:
    """How many runs on W and V were perfect where no theorem speaks; described, not judged."""
    steps = table[(table["quantity"] == "steps_to_perfect") & (table["hypotheses"] != "hold")]
    claims = []
    for kind, named in (("near", "c_of"), ("small", "start")):
        starts = steps[steps["start_kind"] == kind]
        keys = [named, "margin", "trained_on", *SIZES]
        for (name, delta, drawn, *size), rows in starts.groupby(keys, sort=False):
            perfect, runs = rows["value"].notna(), len(rows)
            note = "share of runs that were perfect within the steps allowed"
            note += f"; at step {rows['value'].max():.0f} at the latest" if perfect.any() else ""
            if kind == "near":
                claim = "local convergence: from a 'good enough' initialization"
                name = f"near cP, c of {name.replace('theorem_', 'Theorem ')}"
                # Values of ε are chosen, so that runs over several are no draws of one share.
                place, number = "section I.C.2", alone(perfect.mean(), runs)
                note += f"; {rows['start'].nunique()} values of ε together"
                note += ", which do not meet the hypotheses"
            else:
                claim = "full convergence from small, random initialization"
                place, number = "section II, open", share(int(perfect.sum()), runs)
            setting = f"{name}, {_size(size)}"
            setting += "" if str(delta) in ("1", "none") else f", δ {delta}"
            setting += "" if str(drawn) == ALL else f", {drawn} sequences"
            claims.append(Claim(claim, place, setting, "share_perfect", number, note))
    return claims


def _unreached(rows: pd.DataFrame) -> str:
    """Why a claim cannot be judged: some of its rows did not get there."""
    count = (rows["verdict"] == NOT_REACHED).sum()
    return f"{count} of {len(rows)} not perfect within the steps allowed" if count else ""


def _size(size: Sequence[int]) -> str:
    L, n, longest, shortest = size
    return f"L {L}, n {n}, {_lists(longest, shortest)}"


def _mass(delta: float) -> str:
    """δ where it is not 1, as it is unless settings say otherwise."""
    return "" if delta == 1 else f", δ {delta:.15g}"


def _lists(longest: int, shortest: int) -> str:
    return f"lists of {list_length(longest, shortest)}"
