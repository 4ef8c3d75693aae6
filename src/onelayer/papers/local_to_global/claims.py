"""The paper's claims as checks: each with its number, its interval, and a verdict.

All numbers come from the paper's other tables; here they stand beside the sentence that they test.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from onelayer.claims import BEYOND, Claim, alone, tabulated
from onelayer.claims import NOTES as ON_CLAIMS
from onelayer.intervals import share
from onelayer.papers.local_to_global.findings import (
    AUTHORS_WEIGHTS,
    RANK_ONE_SENTENCE,
    STATES_SENTENCES,
)
from onelayer.papers.local_to_global.sources import Source
from onelayer.settings.local_to_global import ClaimSettings, SourceSettings, Variant
from onelayer.verdicts import FLOAT32, NOT_REACHED, THEORY, Direction, Number

TABLES = (
    *("critical_points", "basins", "critical_points_with_attention", "flow_with_attention"),
    *("initialisation", "rank_one", "ablation", "open_problems"),
)
SHARE = Number(0.5, kind="theory")  # of flows: which of two ends is the more frequent one
RANK_ONE = 0.9  # a share of the largest singular value above this is approximately rank one
# Accepted errors, set before they were measured: closed forms, and integrated flows.
CLOSED_FORM, ENERGY, LIMIT = 1e-12, 1e-4, 1e-6
# Of the loss where p + q = 1, which falls with a power of time and is cut off: set once errors of
# .01 and 2e-6 at two cut-offs were known.
SLOW_LIMIT = 1e-4


def assemble(
    tables: Mapping[str, pd.DataFrame], published: pd.DataFrame, settings: ClaimSettings
) -> pd.DataFrame:
    """All claims, tidy and judged.

    Args:
        tables: by name, all of `TABLES`.
        published: `training_tables.read_published`, the authors' saved weights.
        settings: what was trained.
    """
    claims = _critical_points(tables["critical_points"], "Theorem 1", "(e, w)")
    claims += _flows(tables["basins"])
    points = tables["critical_points_with_attention"]
    claims += _critical_points(points, "Theorem 3", "(e, w, a)")
    claims += _flows_with_attention(tables["flow_with_attention"])
    claims += _initialisations(tables["initialisation"])
    claims += _longer(tables["ablation"], settings)
    trained = not (_finals(tables["initialisation"])["verdict"] == NOT_REACHED).any()
    claims += _rank_one(tables["rank_one"], published, trained)
    claims += _open_problems(tables["open_problems"], settings.sources)
    return tabulated(claims)


def _pooled(rows: pd.DataFrame) -> dict[str, float]:
    """The share of all rows together."""
    return share(round((rows["value"] * rows["n"]).sum()), int(rows["n"].sum()))


def _chains(rows: pd.DataFrame) -> int:
    """The number of chains among the rows."""
    return len(rows[["p", "q"]].drop_duplicates())


def _largest(
    claim: str, place: str, setting: str, rows: pd.DataFrame, error: str, accepted: float
) -> Claim:
    """The largest error of all rows, which theory says is 0."""
    found = alone(rows["value"].max(), rows["n"].sum())
    note = f"the largest, {found['value']:.0e}; accepted: {accepted:.0e}"
    beside = {"compared": THEORY, "published": 0.0, "tolerance": accepted}
    return Claim(claim, place, setting, error, found, note, **beside)


def _flow_share(
    claim: str, place: str, setting: str, rows: pd.DataFrame, expected: float, note: str
) -> Claim:
    """The share of flows of all rows together, beside theory's 0 or 1."""
    quantity = "share_of_flows"
    beside = {"compared": SHARE, "published": expected}
    return Claim(claim, place, setting, quantity, _pooled(rows), note, **beside)


def _critical_points(table: pd.DataFrame, place: str, model: str) -> list[Claim]:
    """Loss, gradient and the flow around every kind of critical point, over all chains."""
    claims = []
    for point, rows in table.groupby("point", sort=False):
        setting = f"{model}, {_chains(rows)} chains, {point}"
        by = dict(list(rows.groupby("quantity")))
        entropy = "bigram entropy" if point == "global minimum" else "unigram entropy"
        own = "saddle, a e^2 = -1"
        where = f"{place}; {BEYOND}" if point == own else place
        loss = by["loss"].assign(value=lambda row: abs(row["value"] - row["published"]))
        claims.append(
            _largest(
                f"a {point.split(',')[0]} has the {entropy}", where, setting, loss,
                "loss_error", CLOSED_FORM,
            )
        )  # fmt: skip
        claims.append(
            _largest(
                "it is a critical point", where, setting, by["gradient_norm"],
                "gradient_norm", CLOSED_FORM,
            )
        )  # fmt: skip
        returns = by["share_returning"]
        expected = returns["published"].iloc[0]
        if not np.isnan(expected):
            verb = "comes back to it" if expected else "leaves it"
            note = "flows from starts close around it that end at it"
            claims.append(_flow_share(f"the flow {verb}", where, setting, returns, expected, note))
        else:
            some = "the flow comes back from some sides, leaves on others"
            back, near = _pooled(returns), "flows from starts close around it that"
            away = back | {"value": 1 - back["value"]}
            away |= {"low": 1 - back["high"], "high": 1 - back["low"]}
            claims += [
                Claim(some, where, setting, quantity, found, f"{near} {verb}", Direction(0.0, 1))
                for quantity, found, verb in (
                    ("share_that_returns", back, "end at it"),
                    ("share_that_leaves", away, "do not end at it"),
                )
            ]
    return claims


def _near_origin(rows: pd.DataFrame, place: str, model: str, start: str, note: str) -> list[Claim]:
    """Where the usual small starts end, on both sides of p + q = 1."""
    claims = []
    for sign, expected, end in (
        ("<", 1.0, "reach a global minimum"),
        (">", 0.0, "reach a local minimum"),
    ):
        side = rows[(rows["p"] + rows["q"] < 1) == (sign == "<")]
        setting = f"{model}, {start}, p + q {sign} 1, {_chains(side)} chains"
        claim = f"for p + q {sign} 1 Gaussian starts around the origin {end}"
        claims.append(_flow_share(claim, place, setting, side, expected, note))
    return claims


def _flows(table: pd.DataFrame) -> list[Claim]:
    """Energy and ends of the flow of (e, w)."""
    by = dict(list(table.groupby("quantity")))
    maps = by["basin_agreement"]
    setting = f"(e, w), {len(maps)} chains, {maps['start'].iloc[0]}"
    claims = [
        _largest("the energy is constant along the flow", "Lemma 1", setting, by["energy_drift"],
                 "energy_drift", ENERGY),
        _flow_share("E and w decide at which minimum the flow ends", "Theorem 2", setting, maps,
                    1.0, "flows that end in the basin that theory names"),
        _largest("the flow ends at the point of its energy", "Theorem 2", setting,
                 by["limit_point_error"], "limit_point_error", LIMIT),
        _largest("the loss ends at the bigram or the unigram entropy", "Theorem 2", setting,
                 by["loss_error"], "loss_error", LIMIT),
    ]  # fmt: skip
    shares = by["global_share"]
    smallest = shares[shares["start"] == shares["start"].iloc[0]]
    note = "flows that end at a global minimum"
    start = smallest["start"].iloc[0]
    claims += _near_origin(smallest, "Fig. 1 (b), (d)", "(e, w)", start, note)
    outside = ((shares["published"] < shares["low"]) | (shares["published"] > shares["high"])).sum()
    covered = share(int(len(shares) - outside), len(shares))
    # Each interval covers with a chance of 95%; scales share draws, and chains a side.
    note = "scales and chains whose 95% interval holds the Gaussian integral over the basin"
    claims.append(
        Claim(
            "a start's scale decides the share that reaches a global minimum",
            "Theorem 2, Fig. 1", "(e, w), all scales and chains", "share_covered",
            covered, note, compared=SHARE, published=0.95,
        )
    )  # fmt: skip
    return claims


def _flows_with_attention(table: pd.DataFrame) -> list[Claim]:
    """Energy and ends of the flow of (e, w, a), and p + q = 1."""
    alone = abs(table["p"] + table["q"] - 1) < 1e-9
    by = dict(list(table[~alone].groupby("quantity")))
    setting = f"(e, w, a), {_chains(table[~alone])} chains, normal starts of all scales"
    place = "Theorem 3"
    claims = [
        _largest("the energy with attention is constant along the flow", place, setting,
                 by["energy_drift"], "energy_drift", ENERGY),
        _flow_share("the flow ends at a critical point", place, setting, by["arrival_share"], 1.0,
                    "flows that end on one of the three sets"),
        _largest("the loss ends at the bigram or the unigram entropy", place, setting,
                 by["loss_error"], "loss_error", LIMIT),
    ]  # fmt: skip
    near = by["global_share"].dropna(subset="published")
    note = "flows that end at a global minimum"
    start = " and ".join(dict.fromkeys(near["start"]))
    if len(near):
        claims += _near_origin(near, "Theorem 3, Figs. 2 and 5", "(e, w, a)", start, note)
    if "decided_global_share" in by:
        claims.append(
            _flow_share(
                "a start whose s has the sign of s* reaches a global minimum", BEYOND, setting,
                by["decided_global_share"], 1.0, "it follows: the loss only falls",
            )
        )  # fmt: skip
    for model, rows in table[alone].groupby("model", sort=False):
        by = dict(list(rows.groupby("quantity")))
        setting = f"{model}, p + q = 1, {rows['start'].iloc[0]}"
        claims += [
            _flow_share("with p + q = 1 every flow ends at the one entropy", BEYOND, setting,
                        by["arrival_share"], 1.0, "flows that end at s = 0"),
            _largest("with p + q = 1 every flow ends at the one entropy", BEYOND, setting,
                     by["loss_error"], "loss_error", SLOW_LIMIT),
            _largest("the energy is constant for p + q = 1 too", BEYOND, setting,
                     by["energy_drift"], "energy_drift", ENERGY),
        ]  # fmt: skip
    return claims


def _initialisations(table: pd.DataFrame) -> list[Claim]:
    """Where training from each start ends."""
    finals = _finals(table)
    middle = finals.loc[[("standard", "mean"), ("paper", "mean")], "published"].mean()
    claims = []
    for name, claim, place in (
        ("standard", "the standard start ends at the unigram entropy", "Fig. 4"),
        ("rank_one", "the rank-one start ends at the unigram entropy", "Fig. 6"),
        ("paper", "the paper's start ends at the bigram entropy", "Fig. 4"),
    ):
        row = finals.loc[(name, "mean")]
        claims.append(
            Claim(
                claim, place, "transformer, as trained here", "final_loss", row, "nats",
                compared=Number(middle, kind="theory", relative=FLOAT32),
                published=row["published"], tolerance=row["tolerance"],
                missing="a run did not train" if row["verdict"] == NOT_REACHED else "",
                seeds=finals.loc[name, "value"].drop("mean"),
            )
        )  # fmt: skip
    return claims


def _longer(table: pd.DataFrame, settings: ClaimSettings) -> list[Claim]:
    """Whether a start is trapped as the paper says, also when training goes on or changes."""
    claims = []
    trapped = table[table["quantity"] == "trapped_share"].set_index("variant")
    for variant in settings.variants:
        row, judged = trapped.loc[variant.name], _same_but_length(variant, settings)
        paper = variant.initialisation == "paper"
        names = {"standard": "standard", "rank_one": "rank-one", "paper": "paper's"}
        claim = f"the {names[variant.initialisation]} start is {'not ' * paper}trapped"
        side = Direction(0.5, -1 if paper else 1) if judged else None
        claims.append(
            Claim(
                claim, "Fig. 4" if judged else BEYOND, f"transformer, {variant.name}",
                "trapped_share", row, f"seeds within .01 of the unigram entropy; {row['note']}",
                side, missing="a run did not train" if row["verdict"] == NOT_REACHED else "",
            )
        )  # fmt: skip
    return claims


def _same_but_length(variant: Variant, settings: ClaimSettings) -> bool:
    """Whether a variant changes nothing but the length of the training."""
    same = {"iterations": settings.training.iterations}
    return variant.applied(settings.training).model_copy(update=same) == settings.training


def _finals(table: pd.DataFrame) -> pd.DataFrame:
    """Final losses by initialisation and seed."""
    found = table[table["quantity"] == "final_loss"]
    return found.set_index(["initialisation", "seed"])


def _rank_one(table: pd.DataFrame, published: pd.DataFrame, trained: bool) -> list[Claim]:
    """How near to rank one all matrices are at the last snapshot."""
    at_end = table[table["iteration"] == table["iteration"].max()]
    last = at_end["iteration"].iloc[0]
    approximately = Direction(RANK_ONE, 1)
    claims = []
    for row in at_end[at_end["initialisation"] == "standard"].itertuples():
        beside = {"published": row.published, "tolerance": row.tolerance}
        note = "share of the largest singular value"
        claims.append(
            Claim(
                RANK_ONE_SENTENCE, "Fig. 3", f"standard start, iteration {last}",
                f"{row.matrix}_top_share", row._asdict(), note, approximately,
                # A published share that is not near rank one itself: only the number counts.
                Number(None) if row.published < RANK_ONE else None, **beside,
                missing="" if trained else "a run did not train",
            )
        )  # fmt: skip
    theirs = published[published["iteration"] == published["iteration"].max()]
    for row in theirs[theirs["initialisation"] == "standard"].itertuples():
        known = {"value": row.published, "n": 1}
        known |= {"low": row.published - row.tolerance, "high": row.published + row.tolerance}
        claims.append(
            Claim(
                RANK_ONE_SENTENCE, "Fig. 3", AUTHORS_WEIGHTS,
                f"{row.matrix}_top_share", known, "one run; interval: its rounding", approximately,
            )
        )  # fmt: skip
    kept = at_end[at_end["initialisation"] == "rank_one"]
    least = kept.loc[kept["value"].idxmin()]
    claims.append(
        Claim(
            "from a rank-one start all matrices stay rank one", "Fig. 6",
            f"rank-one start, iteration {last}", "smallest_top_share", least,
            f"the smallest of {len(kept)} matrices, {least['matrix']}",
            compared=Number(0.5, kind="theory", relative=FLOAT32), published=1.0,
        )
    )  # fmt: skip
    return claims


def _open_problems(table: pd.DataFrame, sources: Sequence[SourceSettings]) -> list[Claim]:
    """What the sentence on two states says of more of them; order and depth, which it leaves open.

    1 - p - q is the second eigenvalue of a chain of two states: where it is positive a small start
    reaches the bigram model, where it is negative the unigram model.
    """
    way = table[table["quantity"] == "way_closed"].set_index(["source", "depth"])
    claims = []
    for own in sources:
        source = Source.of(own.transitions)
        for depth in own.depths:
            row = way.loc[(own.name, depth)]
            setting = f"transformer, {own.name}, {depth} layer{'s' * (depth > 1)}"
            note, side = "share of the way from the unigram to the best entropy", None
            claim = "open problems: higher order, more layers"
            if source.order == 1 and depth == 1:
                free = source.second_eigenvalue > 0
                side = Direction(0.5, 1 if free else -1)
                claim = STATES_SENTENCES[0 if free else 1]
                note += f"; second eigenvalue {source.second_eigenvalue:.2f} (real part)"
            missing = row["note"] if row["verdict"] == NOT_REACHED else ""
            place = f"open problems; {BEYOND}"
            claims.append(
                Claim(claim, place, setting, "way_closed", row, note, side, missing=missing)
            )
    return claims


TITLE = "Local to Global: the paper's claims"
NOTES = [
    "Flows: intervals of shares over starts (Clopper and Pearson); errors are the largest of all, "
    "beside the 0 of theory and what was accepted: beforehand, but for p + q = 1. Transformers: "
    "mean over seeds.",
    *ON_CLAIMS,
    "The authors' saved weights are measured as ours are; their W_Q and W_K at iteration 200 are "
    "not approximately rank one.",
]
