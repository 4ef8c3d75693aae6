"""Table: every kind of critical point, with and without attention (theorems 1 and 3)."""

import numpy as np
import pandas as pd

from onelayer.evidence.intervals import share
from onelayer.evidence.tables import interval, number, tidy
from onelayer.job import job
from onelayer.local_to_global import canonical
from onelayer.local_to_global.chain import Chain
from onelayer.local_to_global.critical_points import POINTS, pooled
from onelayer.local_to_global.simulation import chains_of
from onelayer.settings.local_to_global import FlowSettings

KEYS = ["model", "p", "q", "point"]
# Of starts around a point, how many come back; the saddles on e = 0 have starts of both kinds.
RETURNS = {"global minimum": 1.0, "local minimum": 1.0}
RETURNS |= {"local maximum": 0.0, "saddle, a e^2 = -1": 0.0}
NOTES = [
    "(e, w): the canonical model; (e, w, a): with the attention scalar, at a = -.5 and .5. Loss "
    "and gradient: closed forms at the optimal bias, the worst of the representatives. Theory is "
    "the bigram entropy rate at global minima and the unigram entropy H(pi) elsewhere.",
    "Curvatures: smallest and largest eigenvalue of the Hessian over the representatives; 0 along "
    "the global minima and along e = 0.",
    "Flow returns: share of the starts at a distance of .05 from which the gradient flow ends "
    "within .25 of the point at its loss. Theory: 1 at minima, 0 at maxima; the saddles on e = 0 "
    "have starts of both kinds. Half of the flows would be no effect.",
    "With attention there is a third set, w = -1/sqrt 2 with a e^2 = -1: saddles with e other than "
    "0, at the loss of the unigram model.",
]


def point_rows(chain: Chain, points: list[np.ndarray], name: str, flows: pd.Series) -> list[dict]:
    """Loss, gradient and curvature at one kind of point of a chain; whether the flow returns."""
    theta = np.transpose(points)
    loss = canonical.loss(canonical.logit_gap(*theta), chain)
    entropy = chain.bigram_entropy if name == "global minimum" else chain.unigram_entropy
    speed = np.linalg.norm(canonical.flow(theta, chain), axis=0)
    bends = [np.linalg.eigvalsh(canonical.hessian(point, chain)) for point in points]
    worst, n = loss[abs(loss - entropy).argmax()], {"n": len(points)}
    return [
        n | {"quantity": "loss", "value": worst, "published": entropy},
        n | {"quantity": "gradient_norm", "value": speed.max(), "published": 0.0},
        n | {"quantity": "smallest_curvature", "value": np.min(bends)},
        n | {"quantity": "largest_curvature", "value": np.max(bends)},
        returning(name, share(int(flows["back"]), int(flows["starts"])), "share_returning"),
    ]


def returning(point: str, estimate: dict, quantity: str) -> dict:
    """A share of flows, beside what theory says of this kind of point."""
    theory = {"published": RETURNS[point], "null": 0.5} if point in RETURNS else {}
    return {"quantity": quantity} | estimate | theory


def critical_points(settings: FlowSettings, neighbours: pd.DataFrame) -> pd.DataFrame:
    """The table: a chain and kind of point at a time, then the flows of all chains together."""
    rows, flows = [], neighbours.set_index(KEYS)
    for model, points_of in POINTS.items():
        for chain in chains_of(settings.chains):
            for name, points in points_of(chain).items():
                key = dict(zip(KEYS, (model, chain.p, chain.q, name), strict=True))
                found = point_rows(chain, points, name, flows.loc[tuple(key.values())])
                rows += [key | row for row in found]
    table = tidy(rows, KEYS)
    shares = table[table["quantity"] == "share_returning"]
    together = [
        {"model": model, "point": point} | returning(point, pooled(part), "share_of_flows")
        for (model, point), part in shares.groupby(["model", "point"], sort=False)
    ]
    return tidy([*table.to_dict("records"), *together], KEYS)


def for_readers(table: pd.DataFrame) -> pd.DataFrame:
    """A row per model, chain and kind of point."""
    rows = []
    for (model, p, q, point), part in table.groupby(KEYS, sort=False):
        by = part.set_index("quantity")
        value, back = by["value"], by.loc["share_returning"]
        bends = [value["smallest_curvature"], value["largest_curvature"]]
        bends = ", ".join("0" if abs(bend) < 1e-12 else f"{bend:.3g}" for bend in bends)
        rows.append(
            {"model": model, "chain": str(Chain(p, q)), "point": point}
            | {"loss": number(value["loss"], 6), "theory": number(by.loc["loss", "published"], 6)}
            | {"|gradient|": f"{value['gradient_norm']:.0e}", "curvatures from, to": bends}
            | {"flow returns [95%]": interval(*back[["value", "low", "high"]], 3)}
            | {"in theory": number(back["published"], 0)}
        )
    return pd.DataFrame(rows)


with job(snakemake) as step:
    settings = FlowSettings(**snakemake.params.settings)
    table = critical_points(settings, pd.read_parquet(snakemake.input.neighbours))
    title = "Critical points of the loss, computed and in theory"
    step.save_table(table, title=title, shown=for_readers(table), notes=NOTES)
