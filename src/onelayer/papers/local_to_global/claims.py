"""The paper's claims that need more than one row of its other tables, each with a verdict.

Where a theorem says 'all', the worst of all chains decides; shares are of the flows of all chains
together. What one row of another table decides is judged there.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from onelayer.evidence.claims import BEYOND, Claim, alone, of_seeds, readable, tabulated
from onelayer.evidence.claims import NOTES as ON_CLAIMS
from onelayer.evidence.intervals import share
from onelayer.evidence.tables import ALL, table
from onelayer.evidence.verdicts import FLOAT32, NOT_REACHED, THEORY, Direction, Number
from onelayer.papers.local_to_global.accuracy import (
    SLOW_AT_REST,
    STANDARD_DEVIATIONS,
    energy_drift,
    limit_error,
    slow_loss_error,
)
from onelayer.papers.local_to_global.attention_tables import NEAR, is_independent
from onelayer.papers.local_to_global.chain import Chain
from onelayer.papers.local_to_global.claimed import claimed_model, entropy, excess_loss, kind_of
from onelayer.papers.local_to_global.flow_tables import MAJORITY, ROUNDING
from onelayer.papers.local_to_global.theory import MODELS
from onelayer.papers.local_to_global.training_tables import read_published
from onelayer.settings.local_to_global import ChainSettings, TrainingSettings

RANK_ONE = 0.9  # a share of the largest singular value above this is approximately rank one
LEVEL = 0.05
PLANE, SPACE = MODELS[2], MODELS[3]


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
        "Approximately rank one: a share of the largest singular value above .9. The authors' "
        "saved weights are measured as ours are; their W_Q and W_K at iteration 200 are not.",
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
    """The claims of Local to Global, each with its number, interval and verdict.

    Args:
        critical_points, basins, points_with_attention, flow_with_attention, initialisation,
            rank_one: the paper's other tables.
        published: the authors' saved weights, as `training_tables.read_published` takes it.
        chain, training: of the transformers.
        extent: of the basin maps.
        sigmas: standard deviations of the starts with the attention scalar.
        tolerance, at_rest: of the integration.
    """
    missing, own = _untrained(initialisation), Chain.of(chain)
    theirs = read_published(published)
    return tabulated(
        [
            *_critical_points(critical_points, "Theorem 1", PLANE),
            *_flows(basins, extent, tolerance, at_rest),
            *_critical_points(points_with_attention, "Theorem 3", SPACE),
            *_flows_with_attention(flow_with_attention, sigmas, tolerance, at_rest),
            *_guideline(initialisation, missing, training, own),
            *_rank_one(rank_one, theirs, missing, training, own),
        ]
    )


class _Where(NamedTuple):
    """Where the paper says it, and of what it was measured: two columns of a `Claim`."""

    place: str
    setting: str


def _chains(rows: pd.DataFrame) -> list[Chain]:
    """The chain of each row."""
    return [Chain(p, q) for p, q in zip(rows["p"], rows["q"], strict=True)]


def _where(place: str, model: str, rows: pd.DataFrame, more: str) -> _Where:
    chains = len(set(_chains(rows)))
    return _Where(place, f"{model}, {chains} chain{'s' * (chains > 1)}, {more}")


def _largest(claim: str, where: _Where, rows: pd.DataFrame, error: str, accepted: float) -> Claim:
    """The largest error of all rows, which theory says is 0, up to what the method allows."""
    found = alone(rows["value"].max(), rows["n"].sum())
    note = f"the largest, {found['value']:.1g}; the method allows {accepted:.1g}"
    beside = {"compared": THEORY, "published": 0.0, "tolerance": accepted}
    return Claim(claim, *where, error, found, note, **beside)


def _flow_share(claim: str, where: _Where, rows: pd.DataFrame, expected: float, note: str) -> Claim:
    """The share of flows of all rows together, beside theory's 0 or 1."""
    beside = {"compared": MAJORITY, "published": expected}
    return Claim(claim, *where, "share_of_flows", _pooled(rows), note, **beside)


def _pooled(rows: pd.DataFrame) -> dict[str, float]:
    """The share of all rows together, and how sure it is by the starts of one row.

    All chains and scales have the same starts: on one side of p + q = 1 they mostly fail together.
    """
    value, starts = np.average(rows["value"], weights=rows["n"]), int(rows["n"].max())
    return share(round(value * starts), starts) | {"value": float(value)}


def _critical_points(table: pd.DataFrame, place: str, model: str) -> list[Claim]:
    """Gradient and loss of all critical points, and the flow around every kind of them."""
    by = dict(list(table.groupby("quantity")))
    loss = by["loss"].assign(value=abs(by["loss"]["value"] - by["loss"]["published"]))
    where = _where(place, model, table, "all critical points")
    claims = [
        _largest("all of them are critical points", where, by["gradient_norm"],
                 "gradient_norm", ROUNDING),
        _largest("global minima have the bigram entropy, all others the unigram entropy", where,
                 loss, "loss_error", ROUNDING),
    ]  # fmt: skip
    near = "flows from starts close around it that"
    for point, rows in by["share_returning"].groupby("point", sort=False):
        where, expected = _where(place, model, rows, point), rows["published"].iloc[0]
        if not np.isnan(expected):
            verb = "comes back to" if expected else "leaves"
            claim = f"the flow {verb} a {point}"
            claims.append(_flow_share(claim, where, rows, expected, f"{near} end at it"))
            continue
        some_of_them = Direction(0.0, 1, kind="theory")
        some = f"the flow comes back to a {point} from some sides, and leaves it on others"
        back = _pooled(rows)
        away = back | {"value": 1 - back["value"]}
        away |= {"low": 1 - back["high"], "high": 1 - back["low"]}
        claims += [
            Claim(some, *where, quantity, found, f"{near} {verb}", some_of_them)
            for quantity, found, verb in (
                ("share_that_returns", back, "end at it"),
                ("share_that_leaves", away, "do not end at it"),
            )
        ]
    return claims


def _near_origin(rows: pd.DataFrame, place: str, model: str) -> Claim:
    """Where small starts end, on both sides of p + q = 1."""
    below = rows["p"] + rows["q"] < 1
    as_said = rows.assign(value=rows["value"].where(below, 1 - rows["value"]))
    scales = " and ".join(f"{sigma:g}" for sigma in sorted(set(rows["sigma"])))
    where = _where(place, model, rows, f"normal starts of scale {scales}")
    claim = "starts around the origin reach a global minimum for p + q < 1, a local one for > 1"
    note = "flows that end at a global minimum for p + q < 1, and elsewhere for p + q > 1"
    return _flow_share(claim, where, as_said, 1.0, note)


def _flows(table: pd.DataFrame, extent: float, tolerance: float, at_rest: float) -> list[Claim]:
    """Energy and ends of the flow of (e, w)."""
    by = dict(list(table.groupby("quantity")))
    maps, shares = by["basin_agreement"], by["global_share"]
    limit = limit_error(tolerance, at_rest, extent)
    lemma, theorem = (_where(place, PLANE, maps, "maps") for place in ("Lemma 1", "Theorem 2"))
    claims = [
        _largest("the energy is constant along the flow", lemma, by["energy_drift"],
                 "energy_drift", energy_drift(tolerance, extent)),
        _flow_share("E and w decide at which minimum the flow ends", theorem, maps, 1.0,
                    "flows that end in the basin that theory names"),
        _largest("the flow ends at the point of its energy", theorem, by["limit_point_error"],
                 "limit_point_error", limit),
        _largest("the loss ends at the bigram or the unigram entropy", theorem, by["loss_error"],
                 "loss_error", limit),
        _near_origin(shares[shares["sigma"] == shares["sigma"].min()], "Fig. 1 (b), (d)", PLANE),
    ]  # fmt: skip
    away = shares.assign(value=abs(shares["value"] - shares["published"]))
    where = _where("Theorem 2, Fig. 1", PLANE, shares, "normal starts of all scales")
    claim = "a start's scale decides the share that reaches a global minimum"
    claims.append(_largest(claim, where, away, "largest_share_error", share_error(shares["n"])))
    return claims


def share_error(draws: pd.Series) -> float:
    """How far any of several shares may lie from its probability, with a chance of 95% for all.

    Hoeffding (1963): a share of n draws is off by more than t with a chance of at most
    2 exp(-2 n t^2); the chances of all of them, dependent or not, add up to at most .05.

    Args:
        draws: of each share.
    """
    return float(np.sqrt(np.log(2 * len(draws) / LEVEL) / (2 * draws.min())))


def _flows_with_attention(
    table: pd.DataFrame, sigmas: Sequence[float], tolerance: float, at_rest: float
) -> list[Claim]:
    """Energy and ends of the flow of (e, w, a), and p + q = 1."""
    independent = np.array([is_independent(chain) for chain in _chains(table)])
    own = table[~independent]
    by = dict(list(own.groupby("quantity")))
    reach = STANDARD_DEVIATIONS * max(sigmas)
    where = _where("Theorem 3", SPACE, own, "normal starts of all scales")
    claims = [
        _largest("the energy with attention is constant along the flow", where,
                 by["energy_drift"], "energy_drift", energy_drift(tolerance, reach, True)),
        _flow_share("the flow ends at a critical point", where, by["arrival_share"], 1.0,
                    "flows that end on one of the three sets"),
        _largest("the loss ends at the bigram or the unigram entropy", where, by["loss_error"],
                 "loss_error", limit_error(tolerance, at_rest, reach)),
    ]  # fmt: skip
    near = by["global_share"][by["global_share"]["sigma"] <= NEAR]
    if len(near):
        claims.append(_near_origin(near, "Theorem 3, Figs. 2 and 5", SPACE))
    if "decided_global_share" in by:
        claims.append(
            _flow_share(
                "a start whose s has the sign of s* reaches a global minimum",
                _where(BEYOND, SPACE, own, "normal starts of all scales"),
                by["decided_global_share"], 1.0, "it follows: the loss only falls",
            )
        )  # fmt: skip
    for model, rows in table[independent].groupby("model", sort=False):
        by, attention = dict(list(rows.groupby("quantity"))), model == SPACE
        slow = max(
            slow_loss_error(chain, max(at_rest, SLOW_AT_REST), reach, attention)
            for chain in set(_chains(rows))
        )
        where = _where(BEYOND, model, rows, "p + q = 1")
        claims += [
            _flow_share("with p + q = 1 every flow ends at the one entropy", where,
                        by["arrival_share"], 1.0, "flows that end at s = 0"),
            _largest("with p + q = 1 every flow ends at the one entropy", where, by["loss_error"],
                     "loss_error", slow),
            _largest("the energy is constant for p + q = 1 too", where, by["energy_drift"],
                     "energy_drift", energy_drift(tolerance, reach, attention)),
        ]  # fmt: skip
    return claims


def _untrained(table: pd.DataFrame) -> dict[str, str]:
    """By start, what a claim on it says in place of a number: nothing, where all of it trained."""
    means = table[(table["quantity"] == "final_loss") & (table["seed"] == ALL)]
    verdicts = means.set_index("initialisation")["verdict"]
    return {
        name: "a run did not train" if verdict == NOT_REACHED else ""
        for name, verdict in verdicts.items()
    }


def _guideline(
    table: pd.DataFrame, missing: Mapping[str, str], training: TrainingSettings, chain: Chain
) -> list[Claim]:
    """By how much the paper's start ends below the standard one, seed by seed."""
    finals = table[table["quantity"] == "final_loss"].set_index("seed")
    starts = [finals[finals["initialisation"] == name] for name in ("standard", "paper")]
    losses = [start["value"].drop(ALL) for start in starts]
    models = [claimed_model(name, chain) for name in ("standard", "paper")]
    gains = losses[0] - losses[1]
    reason = missing["standard"] or missing["paper"]
    note = "standard minus the paper's start, the same sequences of each seed (nats)"
    return [
        Claim(
            "the paper's start learns the model that the standard one does not", "Fig. 4",
            "transformer, final loss", "gain_of_the_papers_start", of_seeds(gains),
            "" if reason else note,
            compared=Number(0.0, kind=kind_of(training, chain), relative=FLOAT32),
            published=entropy(models[0], chain) - entropy(models[1], chain),
            tolerance=sum(excess_loss(training, model) for model in models),
            missing=reason,
            seeds=gains,
        )
    ]  # fmt: skip


def _rank_one(
    table: pd.DataFrame,
    published: pd.DataFrame,
    missing: Mapping[str, str],
    training: TrainingSettings,
    chain: Chain,
) -> list[Claim]:
    """Of all matrices the one that is furthest from rank one: ours, and the authors'."""
    kind = kind_of(training, chain)
    sentence = "at convergence, all the parameter matrices are approximately rank-one"
    at_end = table[table["iteration"] == table["iteration"].max()]
    by = dict(list(at_end.groupby("initialisation")))
    ours, kept = (_smallest(by[name], "value") for name in ("standard", "rank_one"))
    theirs = published[published["initialisation"] == "standard"]
    theirs = _smallest(theirs[theirs["iteration"] == theirs["iteration"].max()], "published")
    known = alone(theirs["published"], 1)
    known["low"] = theirs["published"] - theirs["tolerance"]
    known["high"] = theirs["published"] + theirs["tolerance"]
    note = "share of the largest singular value, the smallest of all matrices: {}"
    return [
        Claim(
            sentence, "Fig. 3", f"standard start, iteration {ours['iteration']}",
            "smallest_top_share", ours,
            "" if missing["standard"] else note.format(ours["matrix"]),
            Direction(RANK_ONE, 1, kind=kind), missing=missing["standard"],
        ),
        Claim(
            sentence, "Fig. 3", f"the authors' saved weights, iteration {theirs['iteration']}",
            "smallest_top_share_of_the_authors", known,
            f"{note.format(theirs['matrix'])}; one run, interval: its rounding",
            Direction(RANK_ONE, 1, kind="published"),
        ),
        Claim(
            "from a rank-one start all matrices stay rank one", "Fig. 6",
            f"rank-one start, iteration {kept['iteration']}", "smallest_top_share", kept,
            "" if missing["rank_one"] else note.format(kept["matrix"]),
            compared=Number(None, kind=kind, relative=FLOAT32), published=1.0,
            missing=missing["rank_one"],
        ),
    ]  # fmt: skip


def _smallest(rows: pd.DataFrame, column: str) -> pd.Series:
    return rows.loc[rows[column].idxmin()]
