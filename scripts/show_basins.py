"""Table: where the gradient flow ends, with and without attention (lemma 1, theorems 2 and 3)."""

import numpy as np
import pandas as pd
from safetensors.numpy import load_file

from onelayer.evidence.intervals import share
from onelayer.evidence.tables import interval, number, tidy
from onelayer.job import job
from onelayer.local_to_global import basins, canonical
from onelayer.local_to_global.chain import Chain
from onelayer.local_to_global.critical_points import UNFINISHED, outcome, pooled
from onelayer.local_to_global.simulation import chains_of, grid
from onelayer.settings.local_to_global import FlowSettings

KEYS = ["model", "p", "q", "start", "sigma"]
PLANE, SPACE = "(e, w)", "(e, w, a)"
NEAR = 0.1  # starts of at most this scale are near the origin (Fig. 5)
ALL = {"published": 1.0, "null": 0.5}  # theory says all flows; half of them would be no effect
NOTES = [
    "Arrives as in theory: share of the starts whose flow ends in the basin that theorem 2 names "
    "for each of them; with a, share that ends at a critical point. Errors are the largest of all "
    "flows: of the energy E (lemma 1; with a it has -2 a^2 beside it), of the loss beside the "
    "entropy of the minimum, of the limit beside the one that E predicts.",
    "Theory: what the paper says of starts near the origin (scales up to .1), all for p + q < 1 "
    "and none for p + q > 1.",
]


def of_flows(start: np.ndarray, end: np.ndarray, chain: Chain) -> dict[str, dict]:
    """Rows by quantity of flows [2 or 3, N]: how exact they are, and where they end."""
    reached, n = outcome(end, chain), start.shape[1]
    level = np.where(reached == basins.GLOBAL, chain.bigram_entropy, chain.unigram_entropy)
    loss = canonical.loss(canonical.logit_gap(*end), chain)
    drift = abs(canonical.energy(*end) - canonical.energy(*start))[start[0] != 0]
    errors = {"energy_drift": np.nanmax(drift, initial=0.0), "loss_error": abs(loss - level).max()}
    rows = {}
    if len(start) == 3:
        rows["arrival_share"] = share(int((reached != UNFINISHED).sum()), n) | ALL
    else:
        label = basins.basin(*start, chain)
        stays = (label == basins.STAYS) & (end == start).all(axis=0)  # e = 0
        expected = np.where(label == basins.GLOBAL, basins.GLOBAL, basins.LOCAL)
        agrees = np.where(label == basins.STAYS, stays, reached == expected)
        rows["basin_agreement"] = share(int(agrees.sum()), n) | ALL
        errors["limit_point_error"] = abs(end - basins.limit_points(*start, chain)).max()
    rows |= {name: {"value": e, "published": 0.0, "n": n} for name, e in errors.items()}
    for name, minimum in (("global_share", basins.GLOBAL), ("local_share", basins.LOCAL)):
        rows[name] = share(int((reached == minimum).sum()), n)
    return rows


def every_flow(
    settings: FlowSettings, maps: np.ndarray, gaussian: pd.DataFrame, attention: pd.DataFrame
) -> pd.DataFrame:
    """A chain and kind of start at a time."""
    rows, start = [], grid(settings.extent, settings.points)

    def add(model: str, chain: Chain, of: str, sigma: float, named: dict[str, dict]) -> None:
        key = dict(zip(KEYS, (model, chain.p, chain.q, of, sigma), strict=True))
        rows.extend(key | {"quantity": quantity} | row for quantity, row in named.items())

    of = f"grid of {settings.points} x {settings.points} on +-{settings.extent:.15g}"
    for theta, chain in zip(maps, chains_of(settings.chains), strict=True):
        named = of_flows(start, theta, chain)
        named["global_area"] = {"value": named.pop("global_share")["value"], "n": start.shape[1]}
        del named["local_share"]  # an area is no share of independent draws
        add(PLANE, chain, of, np.nan, named)
    for model, names, flows in ((PLANE, ["e", "w"], gaussian), (SPACE, ["e", "w", "a"], attention)):
        for (p, q, sigma), part in flows.groupby(["p", "q", "sigma"], sort=False):
            chain, before = Chain(p, q), [f"{name}_0" for name in names]
            named = of_flows(part[before].to_numpy().T, part[names].to_numpy().T, chain)
            if sigma <= NEAR:
                named["global_share"] |= {"published": float(chain.below), "null": 0.5}
            add(model, chain, f"normal, sigma {sigma:.15g}", sigma, named)
    return tidy(rows, KEYS)


def together(table: pd.DataFrame) -> list[dict]:
    """What decides the paper's claims: all chains together, the largest error of all."""
    rows, on_grid = [], table["sigma"].isna()
    agrees = table["quantity"] == "basin_agreement"
    for name, part in (("share_of_flows", on_grid), ("share_of_gaussian_flows", ~on_grid)):
        rows.append({"model": PLANE, "quantity": name} | pooled(table[agrees & part]) | ALL)
    for quantity in ("energy_drift", "limit_point_error", "loss_error"):
        found = table[(table["model"] == PLANE) & (table["quantity"] == quantity)]
        row = {"value": found["value"].max(), "published": 0.0, "n": found["n"].sum()}
        rows.append({"model": PLANE, "quantity": f"largest_{quantity}"} | row)
    below = table["p"] + table["q"] < 1
    claimed = np.where(below, "global_share", "local_share") == table["quantity"]
    for model, ends in table[claimed & (table["sigma"] <= NEAR)].groupby("model", sort=False):
        rows.append({"model": model, "quantity": "share_near_the_origin"} | pooled(ends) | ALL)
    return rows


def for_readers(table: pd.DataFrame) -> pd.DataFrame:
    """A row per model, chain and kind of start."""
    rows = []
    for (model, p, q, start, _), part in table.groupby(KEYS, sort=False, dropna=False):
        by = part.set_index("quantity")
        value, went = by["value"], by.reindex(["global_share"]).iloc[0]
        area = number(value.get("global_area", np.nan), 3)
        reaches = interval(*went[["value", "low", "high"]], 3) if start.startswith("n") else area
        errors = ("energy_drift", "loss_error", "limit_point_error")
        rows.append(
            {"model": model, "chain": str(Chain(p, q)), "start": start}
            | {"arrives as in theory": number(value.iloc[0], 4)}
            | {e.replace("_", " "): f"{value[e]:.0e}" if e in value else "–" for e in errors}
            | {"reaches a global minimum [95%]": reaches, "theory": number(went["published"], 3)}
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
