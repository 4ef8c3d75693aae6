"""The gradient flow: critical points (theorems 1 and 3), where it ends (theorem 2), figures."""

import numpy as np
import pandas as pd
from safetensors.numpy import load_file

from onelayer.evidence.intervals import share
from onelayer.evidence.tables import tidy
from onelayer.job import job
from onelayer.local_to_global import basins, canonical, drawing, outcomes, simulation
from onelayer.settings.local_to_global import Chain, FlowSettings

PLANE = "(e, w)"  # the canonical model
ALL = {"published": 1.0, "null": 0.5}  # theory says all flows; half of them would be no effect
NONE = {"published": 0.0, "null": 0.5}
NO_SAMPLE = {"low": np.nan, "high": np.nan}  # a share of a grid has no interval
BEFORE, AFTER = ["e_0", "w_0", "a_0"], ["e", "w", "a"]
# Of starts around a point, how many come back; the saddles on e = 0 have starts of both kinds.
RETURNS = {"global minimum": ALL, "local minimum": ALL}
RETURNS |= {"local maximum": NONE, "saddle, a e^2 = -1": NONE}
ERRORS = ["energy_drift", "limit_point_error", "loss_error"]
POINT_NOTES = [
    "(e, w): the canonical model; (e, w, a): with the attention scalar, at a = -.5 and .5. In "
    "round brackets: theory.",
    "loss, gradient_norm: closed forms at the optimal bias, the worst of the representatives. In "
    "theory the loss is the bigram entropy rate at global minima, elsewhere the unigram entropy.",
    "share_of_flows: share of the starts at a distance of .05 from which the gradient flow ends "
    "within .25 of the point at its loss. The saddles on e = 0 have starts of both kinds.",
    "With attention there is a third set, w = -1/sqrt 2 with a e^2 = -1: saddles with e other than "
    "0, at the loss of the unigram model.",
]
BASIN_NOTES = [
    "share_of_flows: share of the starts whose flow ends in the basin that theorem 2 names; "
    "share_of_gaussian_flows: the same from Gaussian starts of every scale. arrival_share: share "
    "of the flows of (e, w, a) that end at a critical point. In round brackets: theory.",
    "global_area, global_share: share of the starts whose flow reaches a global minimum. "
    "share_near_the_origin: of Gaussian starts of scales up to .1, the share that ends as in the "
    "paper, at a global minimum for p + q < 1 and at a local one for p + q > 1.",
    "Errors: the largest of all flows, of the energy E (lemma 1; with a it has -2 a^2 as well), of "
    "the limit that E predicts, and of the loss. The CSV has them by chain and start.",
]


def pooled(rows: pd.DataFrame) -> dict[str, float]:
    """The share of all rows together, with the interval of one row's starts: all have the same."""
    value, starts = np.average(rows["value"], weights=rows["n"]), int(rows["n"].max())
    return share(round(value * starts), starts) | {"value": float(value)}


def critical_points(neighbours: pd.DataFrame) -> pd.DataFrame:
    """A chain and kind of critical point at a time, then all chains together."""
    rows = []
    for model, p, q, point, starts, back in neighbours.itertuples(index=False):
        chain = Chain(p, q)
        theta = np.transpose(basins.POINTS[model](chain)[point])
        loss = canonical.loss(canonical.logit_gap(*theta), chain)
        entropy = chain.bigram_entropy if point == "global minimum" else chain.unigram_entropy
        worst, n = loss[abs(loss - entropy).argmax()], len(loss)
        steepest = np.linalg.norm(canonical.flow(theta, chain), axis=0).max()
        by = {
            "loss": {"value": worst, "published": entropy, "n": n},
            "gradient_norm": {"value": steepest, "published": 0.0, "n": n},
            "share_of_flows": share(back, starts) | RETURNS.get(point, {}),
        }
        key = {"model": model, "p": p, "q": q, "point": point}
        rows += [key | {"quantity": name} | row for name, row in by.items()]
    table = pd.DataFrame(rows)
    shares = table[table["quantity"] == "share_of_flows"]
    for (model, point), part in shares.groupby(["model", "point"], sort=False):
        row = {"model": model, "point": point, "quantity": "share_of_flows"} | pooled(part)
        rows.append(row | RETURNS.get(point, {}))
    return tidy(rows, ["model", "p", "q", "point"])


def against_theory(start: np.ndarray, end: np.ndarray, chain: Chain) -> dict[str, dict]:
    """Rows by quantity of flows [2 or 3, N]: the share that ends as in theory, largest errors."""
    reached, n = basins.arrival(end, chain), start.shape[1]
    level = np.where(reached == basins.GLOBAL, chain.bigram_entropy, chain.unigram_entropy)
    loss = canonical.loss(canonical.logit_gap(*end), chain)
    drift = canonical.energy(*end) - canonical.energy(*start)
    errors = {"energy_drift": drift, "loss_error": loss - level}
    if len(start) == 2:
        name, agrees = "share_of_flows", reached == basins.basin(*start, chain)
        errors["limit_point_error"] = end - basins.limit_points(*start, chain)
    else:
        name, agrees = "arrival_share", reached != basins.UNFINISHED
    exact = {"published": 0.0, "n": n}
    largest = {error: {"value": abs(by).max()} | exact for error, by in errors.items()}
    return {name: share(int(agrees.sum()), n) | ALL} | largest


def ends_table(settings: FlowSettings, maps: np.ndarray, gaussian: pd.DataFrame) -> pd.DataFrame:
    """A chain and kind of start at a time, then what decides the paper's claims."""
    rows, start = [], simulation.grid(simulation.EXTENT, settings.points)
    grid = f"grid of {settings.points} x {settings.points} on +-{simulation.EXTENT:.15g}"
    for end, chain in zip(maps, settings.chains, strict=True):
        reached = basins.arrival(end, chain) == basins.GLOBAL
        area = {"value": reached.mean(), "n": len(reached)}
        by = against_theory(start, end, chain) | {"global_area": area}
        key = {"model": PLANE, "p": chain.p, "q": chain.q, "start": grid}
        rows += [key | {"quantity": name} | row | NO_SAMPLE for name, row in by.items()]
    for (model, p, q, sigma), part in gaussian.groupby(["model", "p", "q", "sigma"], sort=False):
        start, end = (part[v].dropna(axis=1, how="all").to_numpy().T for v in (BEFORE, AFTER))
        chain, n = Chain(p, q), len(part)
        reached = basins.arrival(end, chain)
        minima = {"global_share": basins.GLOBAL, "local_share": basins.LOCAL}
        shares = {name: share(int((reached == at).sum()), n) for name, at in minima.items()}
        by = against_theory(start, end, chain) | shares
        key = {"model": model, "p": p, "q": q, "start": f"normal, sigma {sigma:.15g}"}
        rows += [key | {"sigma": sigma, "quantity": name} | row for name, row in by.items()]
    table = pd.DataFrame(rows)
    near = (table["quantity"] == "global_share") & (table["sigma"] <= simulation.NEAR)
    table.loc[near, "published"] = (table["p"] + table["q"] < 1).astype(float)
    table.loc[near, "null"] = 0.5
    return tidy(pd.concat([table, decisive(table)]), ["model", "p", "q", "start", "sigma"])


def decisive(table: pd.DataFrame) -> pd.DataFrame:
    """All chains together: the shares, and the largest error of all, that decide the claims."""
    agrees, on_grid = table["quantity"] == "share_of_flows", table["sigma"].isna()
    grid = pooled(table[agrees & on_grid]) | NO_SAMPLE
    shares = {"share_of_flows": grid, "share_of_gaussian_flows": pooled(table[agrees & ~on_grid])}
    rows = [{"model": PLANE, "quantity": name} | row | ALL for name, row in shares.items()]
    errors = table[(table["model"] == PLANE) & table["quantity"].isin(ERRORS)]
    for error, found in errors.groupby("quantity"):
        row = {"value": found["value"].max(), "published": 0.0, "n": found["n"].sum()}
        rows.append({"model": PLANE, "quantity": f"largest_{error}"} | row)
    claimed = np.where(table["p"] + table["q"] < 1, "global_share", "local_share")
    near = table[(table["quantity"] == claimed) & (table["sigma"] <= simulation.NEAR)]
    for model, part in near.groupby("model", sort=False):
        rows.append({"model": model, "quantity": "share_near_the_origin"} | pooled(part) | ALL)
    return pd.DataFrame(rows)


with job(snakemake) as step:
    settings = FlowSettings(**snakemake.params.settings)
    maps, paths = (load_file(snakemake.input[name]) for name in ("maps", "paths"))
    table = critical_points(pd.read_parquet(snakemake.input.neighbours))
    title, shown = "Critical points of the loss", outcomes.by_chain(table, ["model", "point"])
    step.save_table(table, "critical_points", title=title, shown=shown, notes=POINT_NOTES)
    table = ends_table(settings, maps["theta"], pd.read_parquet(snakemake.input.gaussian))
    decides = ~table["quantity"].isin([*ERRORS, "local_share"])
    shown = outcomes.by_chain(table[decides], ["model", "start"])
    title = "Where the gradient flow ends"
    step.save_table(table, "basins", title=title, shown=shown, notes=BASIN_NOTES)
    step.save_figure(drawing.gradient_flow(settings, maps["theta"]), "gradient_flow")
    step.save_figure(drawing.landscape(settings, paths), "landscape")
    step.save_figure(drawing.attention_flow(settings, paths), "attention_flow")
