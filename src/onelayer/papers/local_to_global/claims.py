"""The paper's claims that need more than one row of its other tables, each with a verdict.

Where a theorem says 'all', the worst of all chains decides; shares are of the flows of all chains
together. What one row of another table decides is judged there.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from onelayer.evidence.claims import BEYOND, Claim, alone, of_seeds, readable, tabulated
from onelayer.evidence.claims import NOTES as ON_CLAIMS
from onelayer.evidence.intervals import share, worst
from onelayer.evidence.tables import ALL, table
from onelayer.evidence.verdicts import FLOAT32, NOT_REACHED, THEORY, Direction, Number
from onelayer.papers.local_to_global import theory
from onelayer.papers.local_to_global import training_tables as trained
from onelayer.papers.local_to_global.chain import Chain
from onelayer.papers.local_to_global.flow_tables import MAJORITY, NEAR, ROUNDING
from onelayer.settings.local_to_global import INDEPENDENT, ChainSettings, TrainingSettings

RANK_ONE = 0.9  # a share of the largest singular value above this is approximately rank one
LEVEL = 0.05
PLANE, SPACE = theory.MODELS[2], theory.MODELS[3]
LOSS_ENDS = "the loss ends at the bigram or the unigram entropy"


@table(
    "local_to_global/claims",
    "Claims",
    "table: claims",
    target="table_local_to_global_claims",
    title="Local to Global: the paper's claims over all chains, scales and matrices",
    notes=[
        "Flows: intervals of shares over starts (Clopper and Pearson); all chains and scales have "
        "the same starts, and the interval counts each of them once. Errors are the largest of "
        "all, beside the 0 of theory and what the integration allows: as if every step erred by "
        "its tolerance. Closed forms: what float64 allows.",
        "The share that reaches a global minimum may differ from theory's at any scale by what "
        "95% of such draws stay within at all scales together (Hoeffding).",
        *ON_CLAIMS,
        "Approximately rank one: a share of the largest singular value above .9. The shares of the "
        "authors' saved weights are carried over (workflow/reference) and not computed here; their "
        "W_Q and W_K at iteration 200 are not near rank one.",
    ],
    readable=readable,
    reads={
        "critical_points": "tables/local_to_global/critical_points.csv",
        "basins": "tables/local_to_global/basins.csv",
        "points_with_attention": "tables/local_to_global/critical_points_with_attention.csv",
        "flow_with_attention": "tables/local_to_global/flow_with_attention.csv",
        "initialisation": "tables/local_to_global/initialisation.csv",
        "rank_one": "tables/local_to_global/rank_one.csv",
        "published": "reference/local_to_global_rank_one.csv",
    },
    settings={
        "chain": "local_to_global.transformer.chain",
        "training": "local_to_global.transformer.training",
        "extent": "local_to_global.flow.extent",
        "sigmas": "local_to_global.attention_flow.sigmas",
        "tolerance": "local_to_global.flow.tolerance",
        "at_rest": "local_to_global.flow.at_rest",
    },
)
def local_to_global_claims(
    critical_points: pd.DataFrame,
    basins: pd.DataFrame,
    points_with_attention: pd.DataFrame,
    flow_with_attention: pd.DataFrame,
    initialisation: pd.DataFrame,
    rank_one: pd.DataFrame,
    published: Path,
    chain: ChainSettings,
    training: TrainingSettings,
    extent: float,
    sigmas: list[float],
    tolerance: float,
    at_rest: float,
) -> pd.DataFrame:
    """The claims of Local to Global, each with its number, interval and verdict."""
    missing, chain = _untrained(initialisation), Chain.of(chain)
    theirs, kind = trained.read_published(published), trained.kind_of(training, chain)
    return tabulated(
        [
            *_critical_points(critical_points, "Theorem 1", PLANE),
            *_flows(basins, extent, tolerance, at_rest),
            *_critical_points(points_with_attention, "Theorem 3", SPACE),
            *_flows_with_attention(flow_with_attention, sigmas, tolerance, at_rest),
            _guideline(initialisation, missing, training, chain),
            *_rank_one(rank_one, theirs, missing, kind),
        ]
    )


def _chains(rows: pd.DataFrame) -> set[Chain]:
    return {Chain(p, q) for p, q in zip(rows["p"], rows["q"], strict=True)}


def _setting(model: str, rows: pd.DataFrame, more: str) -> str:
    """What was measured: `setting` of a `Claim`."""
    chains = len(_chains(rows))
    return f"{model}, {chains} chain{'s' * (chains > 1)}, {more}"


def _largest(
    claim: str, place: str, setting: str, quantity: str, rows: pd.DataFrame, allowed: float
) -> Claim:
    """The largest error of all rows, which theory says is 0, up to what the method allows."""
    worst = alone(rows["value"].max(), rows["n"].sum())
    note = f"the largest, {worst['value']:.1g}; the method allows {allowed:.1g}"
    zero = {"compared": THEORY, "published": 0.0, "tolerance": allowed}
    return Claim(claim, place, setting, quantity, worst, note, **zero)


def _flow_share(
    claim: str, place: str, setting: str, rows: pd.DataFrame, note: str, expected: float = 1.0
) -> Claim:
    """The share of flows of all rows together, beside theory's 0 or 1."""
    by_theory = {"compared": MAJORITY, "published": expected}
    return Claim(claim, place, setting, "share_of_flows", _pooled(rows), note, **by_theory)


def _pooled(rows: pd.DataFrame) -> dict[str, float]:
    """The share of all rows together, with the interval that the starts of one row give.

    All chains and scales have the same starts: on one side of p + q = 1 they mostly fail together.
    """
    value, starts = np.average(rows["value"], weights=rows["n"]), int(rows["n"].max())
    return share(round(value * starts), starts) | {"value": float(value)}


def _critical_points(table: pd.DataFrame, place: str, model: str) -> list[Claim]:
    """Gradient and loss of all critical points, and the flow around every kind of them."""
    by = dict(list(table.groupby("quantity")))
    errors = by["loss"].assign(value=abs(by["loss"]["value"] - by["loss"]["published"]))
    every = place, _setting(model, table, "all critical points")
    critical = "all of them are critical points"
    entropies = "global minima have the bigram entropy, all others the unigram entropy"
    claims = [
        _largest(critical, *every, "gradient_norm", by["gradient_norm"], ROUNDING),
        _largest(entropies, *every, "loss_error", errors, ROUNDING),
    ]
    near = "flows from starts close around it that"
    for point, rows in by["share_returning"].groupby("point", sort=False):
        where, expected = (place, _setting(model, rows, point)), rows["published"].iloc[0]
        if not np.isnan(expected):
            claim = f"the flow {'comes back to' if expected else 'leaves'} a {point}"
            note = f"{near} end near it at its loss"
            claims.append(_flow_share(claim, *where, rows, note, expected))
            continue
        some_of_them = Direction(0.0, 1, kind="theory")
        # Those that stay reach the local minima beside it on e = 0, and not the saddle itself.
        some = f"near a {point} the flow stays from some sides, and leaves on others"
        back = _pooled(rows)
        away = back | {"value": 1 - back["value"]}
        away |= {"low": 1 - back["high"], "high": 1 - back["low"]}
        for quantity, estimate, verb in (
            ("share_that_stays", back, "end near it at its loss"),
            ("share_that_leaves", away, "do not end near it"),
        ):
            claims.append(Claim(some, *where, quantity, estimate, f"{near} {verb}", some_of_them))
    return claims


def _near_origin(rows: pd.DataFrame, place: str, model: str) -> Claim:
    """Where small starts end, by `global_share` and `local_share`, on both sides of p + q = 1."""
    side = np.where(rows["p"] + rows["q"] < 1, "global_share", "local_share")
    rows = rows[rows["quantity"] == side]
    scales = " and ".join(f"{sigma:.15g}" for sigma in sorted(set(rows["sigma"])))
    setting = _setting(model, rows, f"normal starts of scale {scales}")
    claim = "starts around the origin reach a global minimum for p + q < 1, a local one for > 1"
    note = "flows that end at a global minimum for p + q < 1, and at a local one for p + q > 1"
    return _flow_share(claim, place, setting, rows, note)


def _flows(table: pd.DataFrame, extent: float, tolerance: float, at_rest: float) -> list[Claim]:
    """Energy and ends of the flow of (e, w)."""
    by = dict(list(table.groupby("quantity")))
    shares = by["global_share"]
    off = shares.assign(value=abs(shares["value"] - shares["published"]))
    drift = theory.energy_drift(tolerance, extent)
    limit = theory.limit_error(tolerance, at_rest, extent)
    maps = _setting(PLANE, table, "maps")
    normal = _setting(PLANE, table, "normal starts of all scales")
    constant = "the energy is constant along the flow"
    decide = "E and w decide at which minimum the flow ends"
    named = "flows that end in the basin that theory names"
    point = "the flow ends at the point of its energy"
    scale = "a start's scale decides the share that reaches a global minimum"
    small = table[table["sigma"] == table["sigma"].min()]
    allowed = share_error(shares["n"])
    return [
        _largest(constant, "Lemma 1", maps, "energy_drift", by["energy_drift"], drift),
        _flow_share(decide, "Theorem 2", maps, by["basin_agreement"], named),
        _largest(point, "Theorem 2", maps, "limit_point_error", by["limit_point_error"], limit),
        _largest(LOSS_ENDS, "Theorem 2", maps, "loss_error", by["loss_error"], limit),
        _near_origin(small, "Fig. 1 (b), (d)", PLANE),
        _largest(scale, "Theorem 2, Fig. 1", normal, "largest_share_error", off, allowed),
    ]


def share_error(draws: pd.Series) -> float:
    """How far any of several shares may lie from its probability, with a chance of 95% for all.

    Hoeffding (1963): a share of n draws is off by more than t with a chance of at most
    2 exp(-2 n t^2); the chances of all of them, dependent or not, add up to at most .05.
    """
    return float(np.sqrt(np.log(2 * len(draws) / LEVEL) / (2 * draws.min())))


def _flows_with_attention(
    table: pd.DataFrame, sigmas: Sequence[float], tolerance: float, at_rest: float
) -> list[Claim]:
    """Energy and ends of the flow of (e, w, a), and p + q = 1."""
    independent = abs(table["p"] + table["q"] - 1) < INDEPENDENT
    by = dict(list(table[~independent].groupby("quantity")))
    reach = theory.STANDARD_DEVIATIONS * max(sigmas)
    drift = theory.energy_drift(tolerance, reach, attention=True)
    limit = theory.limit_error(tolerance, at_rest, reach)
    setting = _setting(SPACE, table[~independent], "normal starts of all scales")
    constant = "the energy with attention is constant along the flow"
    arrives = "the flow ends at a critical point"
    sets = "flows that end on one of the three sets"
    claims = [
        _largest(constant, "Theorem 3", setting, "energy_drift", by["energy_drift"], drift),
        _flow_share(arrives, "Theorem 3", setting, by["arrival_share"], sets),
        _largest(LOSS_ENDS, "Theorem 3", setting, "loss_error", by["loss_error"], limit),
    ]
    near = table[~independent & (table["sigma"] <= NEAR)]
    if len(near):
        claims.append(_near_origin(near, "Theorem 3, Figs. 2 and 5", SPACE))
    if "decided_global_share" in by:
        claim = "a start whose s has the sign of s* reaches a global minimum"
        note = "it follows: the loss only falls"
        claims.append(_flow_share(claim, BEYOND, setting, by["decided_global_share"], note))
    rest = max(at_rest, theory.SLOW_AT_REST)
    one = "with p + q = 1 every flow ends at the one entropy"
    constant = "the energy is constant for p + q = 1 too"
    for model, rows in table[independent].groupby("model", sort=False):
        attention = model == SPACE
        limit = max(theory.slow_loss_error(c, rest, reach, attention) for c in _chains(rows))
        drift = theory.energy_drift(tolerance, reach, attention)
        by, where = dict(list(rows.groupby("quantity"))), _setting(model, rows, "p + q = 1")
        claims += [
            _flow_share(one, BEYOND, where, by["arrival_share"], "flows that end at s = 0"),
            _largest(one, BEYOND, where, "loss_error", by["loss_error"], limit),
            _largest(constant, BEYOND, where, "energy_drift", by["energy_drift"], drift),
        ]
    return claims


def _untrained(table: pd.DataFrame) -> dict[str, str]:
    """By start, why a claim on it is not judged; empty where every run trained."""
    means = table[(table["quantity"] == "final_loss") & (table["seed"] == ALL)]
    verdicts = means.set_index("initialisation")["verdict"]
    return verdicts.eq(NOT_REACHED).map({True: "a run did not train", False: ""}).to_dict()


def _guideline(
    table: pd.DataFrame, missing: Mapping[str, str], training: TrainingSettings, chain: Chain
) -> Claim:
    """By how much the paper's start ends below the standard one, seed by seed."""
    finals = table[(table["quantity"] == "final_loss") & (table["seed"] != ALL)].set_index("seed")
    by = {start: part["value"] for start, part in finals.groupby("initialisation")}
    gains = by["standard"] - by["paper"]
    standard, paper = (trained.claimed_model(start, chain) for start in ("standard", "paper"))
    reason = missing["standard"] or missing["paper"]
    note = "standard minus the paper's start, the same sequences of each seed (nats)"
    return Claim(
        "the paper's start learns the model that the standard one does not",
        "Fig. 4",
        "transformer, final loss",
        "gain_of_the_papers_start",
        of_seeds(gains),
        "" if reason else note,
        compared=Number(0.0, kind=trained.kind_of(training, chain), relative=FLOAT32),
        published=trained.entropy(standard, chain) - trained.entropy(paper, chain),
        tolerance=trained.excess_loss(training, standard) + trained.excess_loss(training, paper),
        missing=reason,
        seeds=gains,
    )


def _rank_one(
    table: pd.DataFrame, published: pd.DataFrame, missing: Mapping[str, str], kind: str
) -> list[Claim]:
    """Of all matrices the one that is furthest from rank one: ours, and the authors'."""
    last = table[table["iteration"] == table["iteration"].max()]
    ours, kept = (
        worst(last[last["initialisation"] == start].to_dict("records"), 1)[1]
        for start in ("standard", "rank_one")
    )
    saved = published[published["initialisation"] == "standard"]
    saved = saved[saved["iteration"] == saved["iteration"].max()]
    theirs = saved.loc[saved["published"].idxmin()].rename({"published": "value"})
    theirs["n"] = 1
    theirs["low"] = theirs["high"] = np.nan  # one run decides nothing
    all_of_them = "at convergence, all the parameter matrices are approximately rank-one"
    stay = "from a rank-one start all matrices stay rank one"
    near, exact = Direction(RANK_ONE, 1, kind=kind), Number(None, kind=kind, relative=FLOAT32)
    authors, weights = Direction(RANK_ONE, 1, kind="published"), "the authors' saved weights"
    note = "share of the largest singular value, the smallest of all matrices: {}"
    one_run = f"{note}; one run"
    claims = (
        (all_of_them, "Fig. 3", "standard start", ours, near, np.nan, missing["standard"]),
        (all_of_them, "Fig. 3", weights, theirs, authors, np.nan, ""),
        (stay, "Fig. 6", "rank-one start", kept, exact, 1.0, missing["rank_one"]),
    )
    return [
        Claim(
            claim,
            place,
            f"{run}, iteration {row['iteration']}",
            "smallest_top_share" + "_of_the_authors" * (row is theirs),
            row,
            "" if reason else (one_run if row is theirs else note).format(row["matrix"]),
            compared=compared,
            published=expected,
            missing=reason,
        )
        for claim, place, run, row, compared, expected, reason in claims
    ]
