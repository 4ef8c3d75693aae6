"""The gradient flow: critical points (theorems 1 and 3), where it ends (theorem 2), figures."""

import itertools

import numpy as np
import pandas as pd
from safetensors.numpy import load_file

from onelayer.evidence.intervals import share
from onelayer.evidence.tables import interval, number, tidy
from onelayer.job import job
from onelayer.local_to_global import basins, canonical, drawing, simulation
from onelayer.local_to_global.basins import POINTS, UNFINISHED, arrival
from onelayer.settings.local_to_global import Chain, FlowSettings

PLANE, SPACE = POINTS  # the canonical model, and with the attention scalar
POINT_KEYS = ["model", "p", "q", "point"]
START_KEYS = ["model", "p", "q", "start", "sigma"]
ALL = {"published": 1.0, "null": 0.5}  # theory says all flows; half of them would be no effect
NONE = {"published": 0.0, "null": 0.5}
NO_DRAWS = {"low": np.nan, "high": np.nan}  # a grid is no sample: its share has no interval
# Of starts around a point, how many come back; the saddles on e = 0 have starts of both kinds.
RETURNS = {"global minimum": ALL, "local minimum": ALL}
RETURNS |= {"local maximum": NONE, "saddle, a e^2 = -1": NONE}
ERRORS = ("energy_drift", "loss_error", "limit_point_error")
POINT_NOTES = [
    "(e, w): the canonical model; (e, w, a): with the attention scalar, at a = -.5 and .5. Loss "
    "and gradient: closed forms at the optimal bias, the worst of the representatives. Theory is "
    "the bigram entropy rate at global minima and the unigram entropy H(pi) elsewhere.",
    "Flow returns: share of the starts at a distance of .05 from which the gradient flow ends "
    "within .25 of the point at its loss. Theory: 1 at minima, 0 at maxima; the saddles on e = 0 "
    "have starts of both kinds.",
    "With attention there is a third set, w = -1/sqrt 2 with a e^2 = -1: saddles with e other than "
    "0, at the loss of the unigram model.",
]
BASIN_NOTES = [
    "Arrives as in theory: share of the starts whose flow ends in the basin that theorem 2 names; "
    "with a, at a critical point. Errors are the largest of all flows: of the energy E (lemma 1; "
    "with a it has -2 a^2 beside it), of the loss, of the limit beside the one that E predicts.",
    "Theory: what the paper says of starts near the origin (scales up to .1), all for p + q < 1 "
    "and none for p + q > 1.",
]


def keyed(keys: list[str], values: tuple, by: dict[str, dict]) -> list[dict]:
    """Rows of a table from rows by quantity that share the values of their keys."""
    key = dict(zip(keys, values, strict=True))
    return [key | {"quantity": quantity} | row for quantity, row in by.items()]


def pooled(rows: pd.DataFrame) -> dict[str, float]:
    """The share of all rows together, with the interval of one row's starts: all have the same."""
    value, starts = np.average(rows["value"], weights=rows["n"]), int(rows["n"].max())
    return share(round(value * starts), starts) | {"value": float(value)}


def critical_points(
    settings: FlowSettings, neighbours: pd.DataFrame
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A chain and kind of point at a time, then all chains together; and a row each for readers."""
    rows, shown, flows = [], [], neighbours.set_index(POINT_KEYS)
    for model, chain in itertools.product(POINTS, settings.chains):
        for name, points in POINTS[model](chain).items():
            key, theta = (model, chain.p, chain.q, name), np.transpose(points)
            loss = canonical.loss(canonical.logit_gap(*theta), chain)
            entropy = chain.bigram_entropy if name == "global minimum" else chain.unigram_entropy
            speed = np.linalg.norm(canonical.flow(theta, chain), axis=0)
            worst, (starts, back) = loss[abs(loss - entropy).argmax()], flows.loc[key].astype(int)
            by = {
                "loss": {"value": worst, "published": entropy, "n": len(points)},
                "gradient_norm": {"value": speed.max(), "published": 0.0, "n": len(points)},
                "share_returning": share(back, starts) | RETURNS.get(name, {}),
            }
            rows += keyed(POINT_KEYS, key, by)
            back = by["share_returning"]
            shown.append(
                {"model": model, "chain": str(chain), "point": name}
                | {"loss": number(worst, 6), "theory": number(entropy, 6)}
                | {"|gradient|": f"{speed.max():.0e}"}
                | {"flow returns [95%]": interval(back["value"], back["low"], back["high"], 3)}
                | {"in theory": number(back.get("published"), 0)}
            )
    table = pd.DataFrame(rows)
    shares = table[table["quantity"] == "share_returning"]
    for (model, point), part in shares.groupby(["model", "point"], sort=False):
        row = {"model": model, "point": point, "quantity": "share_of_flows"} | pooled(part)
        rows.append(row | RETURNS.get(point, {}))
    return tidy(rows, POINT_KEYS), pd.DataFrame(shown)


def of_flows(start: np.ndarray, end: np.ndarray, chain: Chain) -> dict[str, dict]:
    """Rows by quantity of flows [2 or 3, N]: how exact they are, and where they end."""
    reached, n = arrival(end, chain), start.shape[1]
    level = np.where(reached == basins.GLOBAL, chain.bigram_entropy, chain.unigram_entropy)
    loss = canonical.loss(canonical.logit_gap(*end), chain)
    drift = abs(canonical.energy(*end) - canonical.energy(*start))
    errors = {"energy_drift": drift.max(), "loss_error": abs(loss - level).max()}
    rows = {}
    if len(start) == 3:
        rows["arrival_share"] = share(int((reached != UNFINISHED).sum()), n) | ALL
    else:
        agrees = reached == basins.basin(*start, chain)
        rows["basin_agreement"] = share(int(agrees.sum()), n) | ALL
        errors["limit_point_error"] = abs(end - basins.limit_points(*start, chain)).max()
    rows |= {name: {"value": e, "published": 0.0, "n": n} for name, e in errors.items()}
    for name, minimum in (("global_share", basins.GLOBAL), ("local_share", basins.LOCAL)):
        rows[name] = share(int((reached == minimum).sum()), n)
    return rows


def every_flow(
    settings: FlowSettings, maps: np.ndarray, gaussian: pd.DataFrame, attention: pd.DataFrame
) -> pd.DataFrame:
    """A chain and kind of start at a time, then what decides the paper's claims."""
    rows, start = [], simulation.grid(simulation.EXTENT, settings.points)
    of = f"grid of {settings.points} x {settings.points} on +-{simulation.EXTENT:.15g}"
    for theta, chain in zip(maps, settings.chains, strict=True):
        by = of_flows(start, theta, chain)
        by["global_area"] = {"value": by.pop("global_share")["value"], "n": start.shape[1]}
        del by["local_share"]  # an area is no share of independent draws
        by["basin_agreement"] |= NO_DRAWS
        rows += keyed(START_KEYS, (PLANE, chain.p, chain.q, of, np.nan), by)
    for model, names, flows in ((PLANE, ["e", "w"], gaussian), (SPACE, ["e", "w", "a"], attention)):
        for (p, q, sigma), part in flows.groupby(["p", "q", "sigma"], sort=False):
            chain, before = Chain(p, q), [f"{name}_0" for name in names]
            by = of_flows(part[before].to_numpy().T, part[names].to_numpy().T, chain)
            if sigma <= simulation.NEAR:
                by["global_share"] |= {"published": float(chain.below), "null": 0.5}
            rows += keyed(START_KEYS, (model, p, q, f"normal, sigma {sigma:.15g}", sigma), by)
    table = pd.DataFrame(rows)  # below: all chains together, the largest error of all
    agrees, on_grid = table["quantity"] == "basin_agreement", table["sigma"].isna()
    grid, gaussian = pooled(table[agrees & on_grid]), pooled(table[agrees & ~on_grid])
    for name, row in ("share_of_flows", grid | NO_DRAWS), ("share_of_gaussian_flows", gaussian):
        rows.append({"model": PLANE, "quantity": name} | row | ALL)
    for quantity in ("energy_drift", "limit_point_error", "loss_error"):
        found = table[(table["model"] == PLANE) & (table["quantity"] == quantity)]
        row = {"value": found["value"].max(), "published": 0.0, "n": found["n"].sum()}
        rows.append({"model": PLANE, "quantity": f"largest_{quantity}"} | row)
    below = table["p"] + table["q"] < 1
    claimed = np.where(below, "global_share", "local_share") == table["quantity"]
    near = table[claimed & (table["sigma"] <= simulation.NEAR)]
    for model, ends in near.groupby("model", sort=False):
        rows.append({"model": model, "quantity": "share_near_the_origin"} | pooled(ends) | ALL)
    return tidy(rows, START_KEYS)


def flows_for_readers(table: pd.DataFrame) -> pd.DataFrame:
    """A row per model, chain and kind of start."""
    rows = []
    table = table.dropna(subset="start")
    for (model, p, q, start, _), part in table.groupby(START_KEYS, sort=False, dropna=False):
        by = part.set_index("quantity")
        value, went = by["value"], by.reindex(["global_share"]).iloc[0]
        area = number(value.get("global_area", np.nan), 3)
        reaches = interval(*went[["value", "low", "high"]], 3) if start.startswith("n") else area
        rows.append(
            {"model": model, "chain": str(Chain(p, q)), "start": start}
            | {"arrives as in theory": number(value.iloc[0], 4)}
            | {e.replace("_", " "): f"{value[e]:.0e}" if e in value else "–" for e in ERRORS}
            | {"reaches a global minimum [95%]": reaches, "theory": number(went["published"], 3)}
        )
    return pd.DataFrame(rows)


with job(snakemake) as step:
    settings = FlowSettings(**snakemake.params.settings)
    maps, paths = (load_file(snakemake.input[name]) for name in ("maps", "paths"))
    table, shown = critical_points(settings, pd.read_parquet(snakemake.input.neighbours))
    title = "Critical points of the loss, computed and in theory"
    step.save_table(table, "critical_points", title=title, shown=shown, notes=POINT_NOTES)
    starts = [pd.read_parquet(snakemake.input[name]) for name in ("gaussian", "attention")]
    table = every_flow(settings, maps["theta"], *starts)
    shown, title = flows_for_readers(table), "Basins of the gradient flow, simulated and in theory"
    step.save_table(table, "basins", title=title, shown=shown, notes=BASIN_NOTES)
    step.save_figure(drawing.gradient_flow(settings), "gradient_flow")
    step.save_figure(drawing.landscape(settings, paths), "landscape")
    step.save_figure(drawing.attention_flow(settings, paths), "attention_flow")
