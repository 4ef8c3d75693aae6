"""The tables of the gradient flow: what was simulated beside what the theorems say.

`published` is what follows from the theorems: H(pi), H_bi, which minimum is reached; all rows that
are judged are of the kind `theory`. Shares count flows and have no tolerance; closed forms have
that of float64. The errors of integrated flows are judged where the largest of all chains is known,
in `claims`.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd

from onelayer.evidence.intervals import share
from onelayer.evidence.tables import interval, number, table, tidy
from onelayer.evidence.verdicts import THEORY, Number, judge, worded
from onelayer.papers.local_to_global import basins, canonical
from onelayer.papers.local_to_global.chain import Chain
from onelayer.papers.local_to_global.theory import critical_points, grid, outcome
from onelayer.settings.local_to_global import ChainSettings

ROUNDING = 1e-12  # of closed forms in float64: 2^-53 through some thousand operations
MAJORITY = Number(0.5, kind="theory")  # of a share: which of two ends is the more frequent one
# Of a share that may lie anywhere between 0 and 1: a tenth of all flows would matter.
SHARE = Number(None, kind="theory", unit=1.0)
POINT_KEYS, BASIN_KEYS = ["p", "q", "point"], ["p", "q", "start", "sigma"]
NORMAL = "normal, sigma {:.15g}"  # a start, for readers
# Of starts around a point, how many come back; the saddles on e = 0 have starts of both kinds.
RETURNS = {
    "global minimum": 1.0,
    "local minimum": 1.0,
    "local maximum": 0.0,
    "saddle, a e^2 = -1": 0.0,
}


def critical_point_table(
    chains: Sequence[ChainSettings],
    neighbours: pd.DataFrame,
    points_of: Callable[[Chain], Mapping[str, Sequence[np.ndarray]]],
) -> pd.DataFrame:
    """Loss, gradient and curvature at every kind of critical point; whether the flow returns.

    Args:
        chains: of the rows.
        neighbours: `simulation.neighbours` of these points.
        points_of: of a chain, by kind: `theory.critical_points`, or those with attention.
    """
    returned = neighbours.set_index(["p", "q", "point"])
    rows = []
    for chain in map(Chain.of, chains):
        for name, points in points_of(chain).items():
            key = {"p": chain.p, "q": chain.q, "point": name}
            found = returned.loc[(chain.p, chain.q, name)]
            rows += [key | row for row in _at_critical_points(chain, name, points)]
            back = share(int(found["back"]), int(found["starts"]))
            returns = key | back | {"quantity": "share_returning"}
            rows.append(returns | {"published": RETURNS.get(name, np.nan)})
    return judged_points(tidy(rows, POINT_KEYS))


def judged_points(table: pd.DataFrame) -> pd.DataFrame:
    """Verdicts of a table of critical points that has its values."""
    compared = {"loss": THEORY, "gradient_norm": THEORY, "share_returning": MAJORITY}
    return judge(with_runs(table), compared)


def with_runs(table: pd.DataFrame) -> pd.DataFrame:
    """A table whose intervals cover as many independent starts or runs as it counts."""
    return table.assign(runs=table["n"].where(table["low"].notna()))


def _at_critical_points(chain: Chain, name: str, points: Sequence[np.ndarray]) -> list[dict]:
    theta = np.transpose(points)
    flow = canonical.flow if len(theta) == 2 else canonical.flow_with_attention
    loss = canonical.loss(canonical.logit_gap(*theta), chain)
    speed = np.linalg.norm(flow(theta, chain), axis=0)
    bends = np.array([np.linalg.eigvalsh(canonical.hessian(point, chain)) for point in points])
    entropy = chain.bigram_entropy if name == "global minimum" else chain.unigram_entropy
    compared = {"n": len(points), "tolerance": ROUNDING}
    worst = loss[abs(loss - entropy).argmax()]
    return [
        compared | {"quantity": "loss", "value": worst, "published": entropy},
        compared | {"quantity": "gradient_norm", "value": speed.max(), "published": 0.0},
        {"quantity": "smallest_curvature", "value": bends.min(), "n": len(points)},
        {"quantity": "largest_curvature", "value": bends.max(), "n": len(points)},
    ]


def readable_critical_points(table: pd.DataFrame) -> pd.DataFrame:
    """A row per chain and kind of point."""
    rows = []
    for (p, q, point), part in table.groupby(["p", "q", "point"], sort=False):
        by = part.set_index("quantity")
        value, published = by["value"], by["published"]
        bends = [value["smallest_curvature"], value["largest_curvature"]]
        rows.append(
            {
                "p": f"{p:g}",
                "q": f"{q:g}",
                "point": point,
                "loss": number(value["loss"], 6),
                "theory": number(published["loss"], 6),
                "|gradient|": f"{value['gradient_norm']:.0e}",
                "curvatures from, to": ", ".join(_curvature(bend) for bend in bends),
                "flow returns [95%]": interval(
                    *by.loc["share_returning", ["value", "low", "high"]], 3
                ),
                "verdict": worded(
                    by.loc["share_returning" if by.loc["share_returning", "verdict"] else "loss"]
                ),
            }
        )
    return pd.DataFrame(rows)


def _curvature(bend: float) -> str:
    return "0" if abs(bend) < ROUNDING else f"{bend:.3g}"


@table(
    "local_to_global/critical_points",
    "Gradient flow",
    "table: critical points",
    title="Critical points of the loss, computed and in theory",
    notes=[
        "Loss and gradient: closed forms at the optimal bias, the worst of the representatives; "
        "theory is the bigram entropy rate at global minima and the unigram entropy H(pi) "
        "elsewhere (theorem 1). Curvatures: smallest and largest eigenvalue of the Hessian over "
        "the representatives; 0 along the curve of global minima and along e = 0.",
        "Flow returns: share of the starts on a circle of radius .05 from which the gradient flow "
        "ends within .25 of the point at its loss. Theory: 1 at minima, 0 at maxima; the saddle "
        "has starts of both kinds.",
        "Verdict: whether the flow returns as theory says (no effect: half of the flows); for the "
        "saddle, its loss.",
    ],
    readable=readable_critical_points,
    reads={"neighbours": "simulate_flow.neighbours"},
    settings={"chains": "local_to_global.flow.chains"},
)
def points_without_attention(neighbours: pd.DataFrame, chains: list[ChainSettings]) -> pd.DataFrame:
    """Critical points of the loss beside what theorem 1 says of them.

    Args:
        neighbours: `simulation.neighbours`.
        chains: of the rows.
    """
    return critical_point_table(chains, neighbours, critical_points)


def readable_basins(table: pd.DataFrame) -> pd.DataFrame:
    """A row per chain for the maps, and per chain and sigma for the Gaussian starts."""
    rows = []
    for (p, q, start), part in table.groupby(["p", "q", "start"], sort=False):
        by = part.set_index("quantity")
        row = {"p": f"{p:g}", "q": f"{q:g}", "start": start}
        if "basin_agreement" in by.index:
            agreement = by.loc["basin_agreement"]
            row["agreement"] = f"{agreement['value']:.5f}"
            for name in ("energy_drift", "loss_error", "limit_point_error"):
                row[name.replace("_", " ")] = f"{by.loc[name, 'value']:.0e}"
            row["global share"] = number(by.loc["global_area", "value"], 3)
            row["theory"] = "–"
            row["verdict"] = worded(agreement)
        else:
            drawn = by.loc["global_share"]
            row |= dict.fromkeys(
                ("agreement", "energy drift", "loss error", "limit point error"), "–"
            )
            row["global share"] = interval(drawn["value"], drawn["low"], drawn["high"], 3)
            row["theory"] = number(drawn["published"], 3)
            row["verdict"] = worded(drawn)
        rows.append(row)
    return pd.DataFrame(rows)


@table(
    "local_to_global/basins",
    "Gradient flow",
    "table: basins",
    title="Basins of the gradient flow, simulated and in theory",
    notes=[
        "Maps: every grid point is followed to rest and its limit compared with the basin in "
        "which theory puts the start (agreement), with the limit point that its energy predicts, "
        "and with the entropy of that minimum. Errors are the largest of the map; no effect of "
        "the agreement is one half.",
        "Normal starts: share that reaches a global minimum, beside the integral of the Gaussian "
        "over the basin. Around the origin the paper's claim is 1 for p + q < 1 and 0 for "
        "p + q > 1.",
    ],
    readable=readable_basins,
    reads={"maps": "simulate_flow.maps", "gaussian": "simulate_flow.gaussian"},
    settings={
        "chains": "local_to_global.flow.chains",
        "extent": "local_to_global.flow.extent",
        "points": "local_to_global.flow.points",
    },
)
def basins_of_flow(
    maps: dict[str, np.ndarray],
    gaussian: pd.DataFrame,
    chains: list[ChainSettings],
    extent: float,
    points: int,
) -> pd.DataFrame:
    """Every basin map against theory, and the share of Gaussian starts that end globally.

    Args:
        maps: `simulation.basin_maps`.
        gaussian: `simulation.gaussian_starts`.
        chains: of the maps.
        extent, points: of the maps, as in `FlowSettings`.
    """
    e, w = grid(extent, points)
    start = f"grid of {points} x {points} on +-{extent:g}"
    rows = []
    for index, chain in enumerate(map(Chain.of, chains)):
        key = {"p": chain.p, "q": chain.q, "start": start, "sigma": np.nan}
        quantities = map_errors(maps["theta"][index], e, w, chain)
        quantities["steps"] = {"value": maps["steps"][index].mean(), "n": e.size}
        rows += [key | {"quantity": name} | row for name, row in quantities.items()]
        for draw in gaussian[(gaussian["p"] == chain.p) & (gaussian["q"] == chain.q)].itertuples():
            key = {"p": chain.p, "q": chain.q, "start": NORMAL.format(draw.sigma)}
            expected = basins.probability_global(draw.sigma, chain)
            rows.append(
                key
                | {"sigma": draw.sigma}
                | share(draw.to_global, draw.draws)
                | {
                    "quantity": "global_share",
                    "published": expected,
                    "note": "beside it: the integral of the Gaussian over the paper's basin",
                }
            )
    return judged_basins(tidy(rows, BASIN_KEYS))


def judged_basins(table: pd.DataFrame) -> pd.DataFrame:
    """Verdicts of a table of basins that has its values."""
    return judge(with_runs(table), {"basin_agreement": MAJORITY, "global_share": SHARE})


def map_errors(theta: np.ndarray, e: np.ndarray, w: np.ndarray, chain: Chain) -> dict[str, dict]:
    """How the ends theta [2, N] of the flow from (e, w) [N] compare with theory.

    A start at e = 0 must stay; one at w = 0 has no energy to drift.
    """
    label, limit = basins.basin(e, w, chain), basins.limit_points(e, w, chain)
    reached = outcome(theta, chain)
    stays = label == basins.STAYS
    expected = np.where(label == basins.GLOBAL, basins.GLOBAL, basins.LOCAL)
    agrees = np.where(stays, (theta == np.stack([e, w])).all(axis=0), reached == expected)
    loss = canonical.loss(canonical.logit_gap(*theta), chain)
    level = np.where(reached == basins.GLOBAL, chain.bigram_entropy, chain.unigram_entropy)
    drift = canonical.energy(*theta) - canonical.energy(e, w)
    n = e.size
    worst = {
        "energy_drift": (
            np.nanmax(abs(drift[~stays]), initial=0.0),
            "largest |change of E|",
        ),
        "loss_error": (abs(loss - level).max(), "largest |L - H| at the limits"),
        "limit_point_error": (
            abs(theta - limit).max(),
            "largest distance from the limit that the energy predicts",
        ),
    }
    agreement = share(int(agrees.sum()), n) | {"published": 1.0}
    quantities = {"basin_agreement": agreement}
    quantities |= {k: {"value": v, "n": n, "note": text} for k, (v, text) in worst.items()}
    area = float((reached == basins.GLOBAL).mean())
    return quantities | {"global_area": {"value": area, "n": n, "note": "share of the map"}}
