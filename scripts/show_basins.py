"""Table: where the gradient flow ends, with and without attention (lemma 1, theorems 2 and 3)."""

import numpy as np
import pandas as pd
from safetensors.numpy import load_file

from onelayer.evidence.intervals import share
from onelayer.evidence.tables import interval, number, tidy
from onelayer.job import job
from onelayer.local_to_global.basins import probability_global
from onelayer.local_to_global.chain import Chain
from onelayer.local_to_global.ends import ALL, NEAR, of_grid, pooled, with_attention
from onelayer.local_to_global.simulation import chains_of, grid
from onelayer.settings.local_to_global import FlowSettings

KEYS = ["model", "p", "q", "start", "sigma"]
PLANE, SPACE = "(e, w)", "(e, w, a)"
NOTES = [
    "Grid: every point is followed to rest. Arrives as in theory: share whose limit lies in the "
    "basin that theorem 2 names. Errors are the largest of all flows: of the energy E (lemma 1), "
    "of the loss beside the entropy of the minimum, of the limit beside the one that E predicts.",
    "Normal starts: share that reaches a global minimum. Theory without a: the integral of the "
    "Gaussian over the basin. Theory with a: what the paper says of starts near the origin, all "
    "for p + q < 1 and none for p + q > 1.",
    "With a: E has -2 a^2 beside it; arrives: share that ends at a critical point. Decided: of "
    "the starts whose s has the sign of s*, the share that ends at a global minimum. All must, "
    "because the loss falls along the flow and all other critical points have s = 0.",
]


def every_flow(
    settings: FlowSettings, maps: np.ndarray, gaussian: pd.DataFrame, attention: pd.DataFrame
) -> pd.DataFrame:
    """A chain and kind of start at a time."""
    rows, start = [], grid(settings.extent, settings.points)
    named = f"grid of {settings.points} x {settings.points} on +-{settings.extent:.15g}"

    def add(model: str, chain: Chain, sigma: float, by_quantity: dict[str, dict]) -> None:
        of = named if np.isnan(sigma) else f"normal, sigma {sigma:.15g}"
        key = dict(zip(KEYS, (model, chain.p, chain.q, of, sigma), strict=True))
        rows.extend(key | {"quantity": quantity} | row for quantity, row in by_quantity.items())

    for theta, chain in zip(maps, chains_of(settings.chains), strict=True):
        add(PLANE, chain, np.nan, of_grid(theta, start, chain))
        for draw in gaussian[(gaussian["p"] == chain.p) & (gaussian["q"] == chain.q)].itertuples():
            to_global, to_local = (share(n, draw.draws) for n in (draw.to_global, draw.to_local))
            to_global["published"] = probability_global(draw.sigma, chain)
            add(PLANE, chain, draw.sigma, {"global_share": to_global, "local_share": to_local})
    for (p, q, sigma), part in attention.groupby(["p", "q", "sigma"], sort=False):
        add(SPACE, Chain(p, q), sigma, with_attention(part, Chain(p, q), sigma))
    return tidy(rows, KEYS)


def together(table: pd.DataFrame) -> list[dict]:
    """What decides the paper's claims: all chains together, the largest error of all."""
    plane, space = (
        dict(list(table[table["model"] == model].groupby("quantity"))) for model in (PLANE, SPACE)
    )
    rows = []

    def largest(quantity: str, errors: pd.Series, of: pd.DataFrame) -> None:
        row = {"quantity": quantity, "value": errors.max(), "published": 0.0, "n": of["n"].sum()}
        rows.append({"model": PLANE} | row)

    def near_origin(model: str, by: dict[str, pd.DataFrame], sigma: float) -> None:
        went, stayed = by["global_share"], by["local_share"]
        below = went["p"] + went["q"] < 1
        ends = pd.concat([went[below], stayed[stayed["p"] + stayed["q"] > 1]])
        small = pooled(ends[ends["sigma"] <= sigma])
        rows.append({"model": model, "quantity": "share_near_the_origin"} | small | ALL)

    agreement, shares = plane["basin_agreement"], plane["global_share"]
    rows.append({"model": PLANE, "quantity": "share_of_flows"} | pooled(agreement) | ALL)
    for quantity in ("energy_drift", "limit_point_error", "loss_error"):
        largest(f"largest_{quantity}", plane[quantity]["value"], plane[quantity])
    largest("largest_share_error", abs(shares["value"] - shares["published"]), shares)
    near_origin(PLANE, plane, shares["sigma"].min())
    if (space["global_share"]["sigma"] <= NEAR).any():
        near_origin(SPACE, space, NEAR)
    return rows


def for_readers(table: pd.DataFrame) -> pd.DataFrame:
    """A row per model, chain and kind of start."""
    rows = []
    for (model, p, q, start, _), part in table.groupby(KEYS, sort=False, dropna=False):
        by = part.set_index("quantity")
        value, went = by["value"], by.reindex(["global_share"]).iloc[0]
        errors = ("energy_drift", "loss_error", "limit_point_error")
        arrives = value.get("basin_agreement", value.get("arrival_share", np.nan))
        area = number(value.get("global_area", np.nan), 3)
        reaches = interval(*went[["value", "low", "high"]], 3) if start.startswith("n") else area
        rows.append(
            {"model": model, "chain": str(Chain(p, q)), "start": start}
            | {"arrives as in theory": number(arrives, 4)}
            | {e.replace("_", " "): f"{value[e]:.0e}" if e in value else "–" for e in errors}
            | {"reaches a global minimum [95%]": reaches}
            | {"theory": number(went["published"], 3)}
            | {"theory without a": number(value.get("global_share_without_a", np.nan), 3)}
            | {"decided": number(value.get("decided_global_share", np.nan), 4)}
        )
    return pd.DataFrame(rows)


with job(snakemake) as step:
    settings = FlowSettings(**snakemake.params.settings)
    maps = load_file(snakemake.input.maps)["theta"]
    starts = [pd.read_parquet(snakemake.input[name]) for name in ("gaussian", "attention")]
    table = every_flow(settings, maps, *starts)
    title = "Basins of the gradient flow, simulated and in theory"
    both = tidy([*table.to_dict("records"), *together(table)], KEYS)
    step.save_table(both, title=title, shown=for_readers(table), notes=NOTES)
