"""The tables of the gradient flow: what was simulated beside what the theorems say.

`published` is what follows from the theorems: H(pi), H_bi, which minimum is reached; all rows that
are judged are of the kind `theory`. Shares count flows and have no tolerance; closed forms have
that of float64. The errors of integrated flows are judged where the largest of all chains is known,
in `claims`.

With the attention scalar (theorem 3) this is known without an integral: ds/dt = -h(s) |grad s|^2,
so that s moves towards s* and never past it, and every critical point with s other than s* has
s = 0. So a start whose s has the sign of s* ends at a global minimum, wherever it lies. Gaussian
starts show where the others end.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd

from onelayer.evidence.intervals import share, with_runs
from onelayer.evidence.tables import interval_of, number, row_per, table, tidy
from onelayer.evidence.verdicts import THEORY, Number, judge, worded
from onelayer.papers.local_to_global import basins, canonical, theory
from onelayer.papers.local_to_global.chain import Chain
from onelayer.settings.local_to_global import ChainSettings

ROUNDING = 1e-12  # of closed forms in float64: 2^-53 through some thousand operations
MAJORITY = Number(0.5, kind="theory")  # of a share: which of two ends is the more frequent one
# Of a share that may lie anywhere between 0 and 1: a tenth of all flows would matter.
SHARE = Number(None, kind="theory", unit=1.0)
POINT_KEYS, BASIN_KEYS = ["p", "q", "point"], ["p", "q", "start", "sigma"]
ATTENTION_KEYS = ["p", "q", "model", "start", "sigma"]
NORMAL = "normal, sigma {:.15g}"  # a start, for readers
NEAR = 0.1  # starts of at most this scale are near the origin (figure 5)
# Of starts around a point, how many come back; the saddles on e = 0 have starts of both kinds.
RETURNS = {
    "global minimum": 1.0,
    "local minimum": 1.0,
    "local maximum": 0.0,
    "saddle, a e^2 = -1": 0.0,
}


def _critical_points(
    chains: Sequence[ChainSettings],
    neighbours: pd.DataFrame,
    points_of: Callable[[Chain], Mapping[str, Sequence[np.ndarray]]],
) -> pd.DataFrame:
    """Loss, gradient and curvature at every kind of critical point; whether the flow returns."""
    returned = neighbours.set_index(POINT_KEYS)
    rows = []
    for chain in map(Chain.of, chains):
        for name, points in points_of(chain).items():
            key = {"p": chain.p, "q": chain.q, "point": name}
            theta, of_all = np.transpose(points), key | {"n": len(points)}
            loss = canonical.loss(canonical.logit_gap(*theta), chain)
            entropy = chain.bigram_entropy if name == "global minimum" else chain.unigram_entropy
            worst = loss[abs(loss - entropy).argmax()]
            speed = np.linalg.norm(canonical.flow(theta, chain), axis=0)
            bends = [np.linalg.eigvalsh(canonical.hessian(point, chain)) for point in points]
            exact = of_all | {"tolerance": ROUNDING}
            flows = returned.loc[(chain.p, chain.q, name)]
            returning = share(int(flows["back"]), int(flows["starts"]))
            returning |= {"published": RETURNS.get(name, np.nan)}
            rows += [
                exact | {"quantity": "loss", "value": worst, "published": entropy},
                exact | {"quantity": "gradient_norm", "value": speed.max(), "published": 0.0},
                of_all | {"quantity": "smallest_curvature", "value": np.min(bends)},
                of_all | {"quantity": "largest_curvature", "value": np.max(bends)},
                key | {"quantity": "share_returning"} | returning,
            ]
    compared = {"loss": THEORY, "gradient_norm": THEORY, "share_returning": MAJORITY}
    return judge(with_runs(tidy(rows, POINT_KEYS)), compared)


@row_per(*POINT_KEYS)
def readable_critical_points(by: pd.DataFrame, p: float, q: float, point: str) -> dict:
    """A row per chain and kind of point."""
    value, returning = by["value"], by.loc["share_returning"]
    bends = (value["smallest_curvature"], value["largest_curvature"])
    return {
        "p": f"{p:.15g}",
        "q": f"{q:.15g}",
        "point": point,
        "loss": number(value["loss"], 6),
        "theory": number(by.loc["loss", "published"], 6),
        "|gradient|": f"{value['gradient_norm']:.0e}",
        "curvatures from, to": ", ".join("0" if abs(b) < ROUNDING else f"{b:.3g}" for b in bends),
        "flow returns [95%]": interval_of(returning, 3),
        "verdict": worded(returning if returning["verdict"] else by.loc["loss"]),
    }


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
    """Critical points of the loss beside what theorem 1 says of them."""
    return _critical_points(chains, neighbours, theory.critical_points)


@table(
    "local_to_global/critical_points_with_attention",
    "Gradient flow",
    "table: critical points with attention",
    title="Critical points of the loss with the attention scalar, computed and in theory",
    notes=[
        "As the table without a: closed forms, the worst of the representatives; with a = -.5 and "
        ".5, and e the positive roots. Flow returns: of 64 starts on a sphere of radius .05.",
        "With attention there is a third set, w = -1/sqrt 2 with a e^2 = -1: saddles with e other "
        "than 0, at the loss of the unigram model. The model without a has none of them.",
        "Verdict: whether the flow returns as theory says (no effect: half of the flows); for the "
        "saddles on e = 0, their loss.",
    ],
    readable=readable_critical_points,
    reads={"neighbours": "simulate_attention_flow.neighbours"},
    settings={"chains": "local_to_global.flow.chains"},
)
def points_with_attention(neighbours: pd.DataFrame, chains: list[ChainSettings]) -> pd.DataFrame:
    """Critical points of the loss with the attention scalar beside what theorem 3 says of them."""
    return _critical_points(chains, neighbours, theory.critical_points_with_attention)


@row_per("p", "q", "start")
def readable_basins(by: pd.DataFrame, p: float, q: float, start: str) -> dict:
    """A row per chain for the maps, and per chain and sigma for the Gaussian starts."""
    is_map = "basin_agreement" in by.index
    decides = by.loc["basin_agreement" if is_map else "global_share"]
    errors = ("energy_drift", "loss_error", "limit_point_error")
    shown = {name: f"{by.loc[name, 'value']:.0e}" if is_map else "–" for name in errors}
    area = number(by.loc["global_area", "value"], 3) if is_map else interval_of(decides, 3)
    return {
        "p": f"{p:.15g}",
        "q": f"{q:.15g}",
        "start": start,
        "agreement": f"{decides['value']:.5f}" if is_map else "–",
        **{name.replace("_", " "): error for name, error in shown.items()},
        "global share": area,
        "theory": "–" if is_map else number(decides["published"], 3),
        "verdict": worded(decides),
    }


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
    """Every basin map against theory, and the share of Gaussian starts that end globally."""
    e, w = theory.grid(extent, points)
    start = f"grid of {points} x {points} on +-{extent:.15g}"
    rows = []
    for index, chain in enumerate(map(Chain.of, chains)):
        of_chain = {"p": chain.p, "q": chain.q}
        quantities = map_errors(maps["theta"][index], e, w, chain)
        quantities["steps"] = {"value": maps["steps"][index].mean(), "n": e.size}
        key = of_chain | {"start": start, "sigma": np.nan}
        rows += [key | {"quantity": name} | row for name, row in quantities.items()]
        for draw in gaussian[(gaussian["p"] == chain.p) & (gaussian["q"] == chain.q)].itertuples():
            scale = of_chain | {"start": NORMAL.format(draw.sigma), "sigma": draw.sigma}
            by_theory = {
                "published": basins.probability_global(draw.sigma, chain),
                "note": "beside it: the integral of the Gaussian over the paper's basin",
            }
            to_global, to_local = (share(n, draw.draws) for n in (draw.to_global, draw.to_local))
            rows.append(scale | {"quantity": "global_share"} | by_theory | to_global)
            rows.append(scale | {"quantity": "local_share"} | to_local)
    compared = {"basin_agreement": MAJORITY, "global_share": SHARE}
    return judge(with_runs(tidy(rows, BASIN_KEYS)), compared)


def map_errors(theta: np.ndarray, e: np.ndarray, w: np.ndarray, chain: Chain) -> dict[str, dict]:
    """How the ends theta [2, N] of the flow from (e, w) [N] compare with theory.

    A start at e = 0 must stay; one at w = 0 has no energy to drift.
    """
    label, limit = basins.basin(e, w, chain), basins.limit_points(e, w, chain)
    reached = theory.outcome(theta, chain)
    stays = label == basins.STAYS
    expected = np.where(label == basins.GLOBAL, basins.GLOBAL, basins.LOCAL)
    agrees = np.where(stays, (theta == np.stack([e, w])).all(axis=0), reached == expected)
    drift = (canonical.energy(*theta) - canonical.energy(e, w))[~stays]
    worst = {
        "energy_drift": (np.nanmax(abs(drift), initial=0.0), "largest |change of E|"),
        "loss_error": (_loss_error(theta, reached, chain), "largest |L - H| at the limits"),
        "limit_point_error": (
            abs(theta - limit).max(),
            "largest distance from the limit that the energy predicts",
        ),
        "global_area": (float((reached == basins.GLOBAL).mean()), "share of the map"),
    }
    agreement = share(int(agrees.sum()), e.size) | {"published": 1.0}
    return {"basin_agreement": agreement} | {
        name: {"value": value, "n": e.size, "note": note} for name, (value, note) in worst.items()
    }


def _loss_error(theta: np.ndarray, reached: np.ndarray, chain: Chain) -> float:
    """The largest |L - H| of ends theta [2 or 3, N], which have reached what `theory` says."""
    loss = canonical.loss(canonical.logit_gap(*theta), chain)
    level = np.where(reached == basins.GLOBAL, chain.bigram_entropy, chain.unigram_entropy)
    return abs(loss - level).max()


@row_per(*ATTENTION_KEYS)
def readable_attention_flow(
    by: pd.DataFrame, p: float, q: float, model: str, start: str, _: float
) -> dict:
    """A row per chain, model and scale of the start."""
    value, ends = by["value"], by.reindex(["global_share"]).iloc[0]
    judged = by.loc["arrival_share"] if Chain(p, q).is_independent else ends
    return {
        "p": f"{p:.15g}",
        "q": f"{q:.15g}",
        "model": model,
        "start": start,
        "arrives": number(value["arrival_share"], 4),
        "energy drift": f"{value['energy_drift']:.0e}",
        "loss error": f"{value['loss_error']:.0e}",
        "global share [95%]": interval_of(ends, 3),
        "theory": number(ends["published"], 0),
        "without a": number(value.get("global_share_without_a"), 3),
        "decided": number(value.get("decided_global_share"), 4),
        "verdict": worded(judged),
    }


@table(
    "local_to_global/flow_with_attention",
    "Gradient flow",
    "table: ends of the flow with attention, and p + q = 1",
    title="Where the gradient flow with the attention scalar ends, and p + q = 1",
    notes=[
        "Arrives: share of the flows that end on one of the three sets of critical points. Energy "
        "drift: the largest |change of E| = |e^2 - w^2 - sign(w) log|w| - 2 a^2|; loss error: the "
        "largest |L - H| at the ends.",
        f"Global share: beside it what the paper says of starts near the origin (sigma at most "
        f"{NEAR:g}): all for p + q < 1, none for p + q > 1. Without a: the integral of the "
        "Gaussian over the basin without attention.",
        "Decided: of the starts whose s has the sign of s*, the share that ends at a global "
        "minimum; all must, because the loss falls along the flow and all other critical points "
        "have s = 0.",
        "p + q = 1: the symbols are independent, unigram and bigram entropy are equal, and every "
        "point with s = 0 is a global minimum; the theorems leave it out. Arrives: at s = 0.",
    ],
    readable=readable_attention_flow,
    reads={"ends": "simulate_attention_flow.ends"},
)
def attention_flow_table(ends: pd.DataFrame) -> pd.DataFrame:
    """Where the flow ends, by chain, model and scale of the start."""
    rows = []
    for (p, q, model, sigma), part in ends.groupby(["p", "q", "model", "sigma"], sort=False):
        key = {"p": p, "q": q, "model": model, "start": NORMAL.format(sigma), "sigma": sigma}
        of_starts = _of_starts(part, Chain(p, q), sigma)
        rows += [key | {"quantity": quantity} | row for quantity, row in of_starts.items()]
    return judge(with_runs(tidy(rows, ATTENTION_KEYS)), MAJORITY)


def _of_starts(part: pd.DataFrame, chain: Chain, sigma: float) -> dict[str, dict]:
    """Rows of one chain, model and scale by quantity."""
    start, end = (part[names].to_numpy().T for names in (["e_0", "w_0", "a_0"], ["e", "w", "a"]))
    reached, n = theory.outcome_with_attention(end, chain), len(part)
    drift = canonical.energy(*end) - canonical.energy(*start)
    rows = {
        "arrival_share": share(int((reached != theory.UNFINISHED).sum()), n) | {"published": 1.0},
        "energy_drift": {"value": np.nanmax(abs(drift)), "n": n},
        "loss_error": {"value": _loss_error(end, reached, chain), "n": n},
    }
    if chain.is_independent:
        return rows
    on_locus = reached == basins.GLOBAL
    rows["global_share"] = share(int(on_locus.sum()), n)
    rows["local_share"] = share(int((reached == basins.LOCAL).sum()), n)
    if sigma <= NEAR:
        note = "beside it: theorem 3 and figure 5, near the origin"
        rows["global_share"] |= {"published": float(chain.s_star > 0), "note": note}
    without = basins.probability_global(sigma, chain)
    rows["global_share_without_a"] = {"value": without, "n": 1}
    decided = np.sign(canonical.logit_gap(*start)) == np.sign(chain.s_star)
    if decided.any():
        to_global = share(int(on_locus[decided].sum()), int(decided.sum()))
        rows["decided_global_share"] = to_global | {"published": 1.0}
    return rows
