"""'Observation: two-stage optimization process': norms of W_K, W_Q and W_V from near zero on.

W_V grows first while W_K and W_Q stay near their initial values, then these grow while W_V stays
relatively flat.
"""

import itertools
import math
from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd

from onelayer.ensemble.execution import Execution
from onelayer.evidence.intervals import median, share
from onelayer.settings import topic_structure_synthetic as blocks
from onelayer.topic_structure.synthetic.data import draw
from onelayer.topic_structure.synthetic.summary import estimated, over_runs
from onelayer.topic_structure.synthetic.train import Run, train_runs

NORMS = ("W_K", "W_Q", "W_V")
RUN = ["kind", "name", "learning_rate", "noise", "seed"]
LEAST_RUNS = 6  # fewer cannot tell a share from a half, even if they all agree
VALUE_DONE, KEYS_BEGIN = 0.9, 1.1  # shares of W_V's maximum and of W_K's initial value


def two_stages(
    base: blocks.SyntheticTraining, block: blocks.TwoStageSettings, execution=Execution()
) -> pd.DataFrame:
    """Norms of W_K, W_Q and W_V after every update, for the settings and the cells of the maps.

    Returns:
        Rows `kind` (setting or map), `name`, `learning_rate`, `noise`, `seed`, `step`, a column for
        each norm, `diverged_at`; norms of a diverged run are NaN from there on.
    """
    asked = [
        ("setting", one, Run(seed, one.optimizer, one.learning_rate, noise=one.noise))
        for one in block.settings
        for seed in range(one.seeds or block.seeds)
    ]
    for one in block.maps:
        cells = itertools.product(one.noises, one.learning_rates, range(block.map_seeds))
        asked += [("map", one, Run(seed, one.optimizer, r, noise=n)) for n, r, seed in cells]

    def together(item: tuple) -> tuple:
        return item[1].embedding, item[1].loss, item[1].masked_attended

    parts = []
    asked.sort(key=lambda item: (*together(item), item[2].optimizer))
    for (embedding, loss, attended), group in itertools.groupby(asked, together):
        items = list(group)
        of = {"concentration": block.concentration, "masked_attended": attended}
        rows = draw(base.model, block.documents, block.N, "two stages", **of)
        state = f"{embedding}-{loss}-{attended:d}"
        trained = train_runs(
            *(base, rows, [run for *_, run in items], embedding, loss, block.steps),
            lambda p: {name: p[name].flatten(1).norm(dim=1) for name in NORMS},
            range(block.steps + 1),
            execution=execution.part(state, (embedding, loss, attended)),
        )
        steps = np.array(trained.observed_at)
        for place, (kind, one, run) in enumerate(items):
            diverged = int(trained.diverged_at[place])
            # What a run was frozen at is no norm of a training that went on.
            went_on = (steps < diverged) | (diverged < 0)
            norms = {key: trained.observed[key][:, place].double().numpy() for key in NORMS}
            norms = {key: np.where(went_on, norm, np.nan) for key, norm in norms.items()}
            of = dict(
                zip(RUN, [kind, one.name, run.learning_rate, run.noise, run.seed], strict=True)
            )
            parts.append(pd.DataFrame(of | {"step": steps} | norms | {"diverged_at": diverged}))
    order = {one.name: place for place, one in enumerate([*block.settings, *block.maps])}
    norms = pd.concat(parts, ignore_index=True)
    return norms.sort_values("name", key=lambda name: name.map(order), kind="stable")


def stage_times(norms: pd.DataFrame) -> pd.DataFrame:
    """When the stages of every run end and begin.

    Args:
        norms: rows of `two_stages`, in the order of steps; of the first steps alone times can
            differ, since the maximum of |W_V| does.

    Returns:
        A row per run: its keys, `t_V` (first step with |W_V| >= 90% of its maximum), `t_KQ` (first
        step with |W_K| >= 110% of its initial value; NaN: never), `value_share_at_t_KQ` (|W_V| then
        over its maximum), `in_order` (0 < t_V <= t_KQ: a W_V that starts large has no first stage),
        `diverged_at`. A diverged run has no times and is not in order.
    """
    rows = []
    for keys, run in norms.groupby(RUN, sort=False):
        times = {"t_V": np.nan, "t_KQ": np.nan, "value_share_at_t_KQ": np.nan, "in_order": False}
        times["diverged_at"] = int(run["diverged_at"].iloc[0])
        if times["diverged_at"] < 0:
            step, W_V, W_K = (run[name].to_numpy() for name in ("step", "W_V", "W_K"))
            times["t_V"] = float(step[np.argmax(VALUE_DONE * W_V.max() <= W_V)])
            if len(grown := np.flatnonzero(KEYS_BEGIN * W_K[0] <= W_K)):
                times["t_KQ"] = float(step[grown[0]])
                times["value_share_at_t_KQ"] = float(W_V[grown[0]] / W_V.max())
                times["in_order"] = bool(0 < times["t_V"] <= times["t_KQ"])
        rows.append(dict(zip(RUN, keys, strict=True)) | times)
    return pd.DataFrame(rows)


def stage_rows(
    norms: pd.DataFrame, block: blocks.TwoStageSettings, published: Mapping[str, float]
) -> Iterator[dict]:
    """Rows of the table: times and shares of each setting; of a map, its cells that are in order.

    `published` has the paper's steps by quantity, for the setting that is `pictured`.
    """
    for one in (*block.settings, *block.maps):
        kind = "map" if one in block.maps else "setting"
        own = norms[(norms["kind"] == kind) & (norms["name"] == one.name)]
        runs = stage_times(own)
        keys = {"studied": kind, "setting": one.name, "loss": one.loss, "optimizer": one.optimizer}
        keys["masked"] = "attended" if one.masked_attended else "hidden"
        if kind == "map":
            hits = runs.groupby(["learning_rate", "noise"])["in_order"].mean() > 0.5
            cells = {"quantity": "share_of_cells_in_order", "value": hits.mean(), "n": len(hits)}
            yield keys | cells
            continue
        keys |= {"learning_rate": one.learning_rate, "noise": one.noise}
        for name in ("t_V_median", "t_KQ_median"):
            theirs = published[name] if one.pictured else math.nan
            row = estimated(median(runs[name.removesuffix("_median")].dropna().to_numpy()))
            yield keys | {"quantity": name, "published": theirs} | row
        row = over_runs(runs["value_share_at_t_KQ"], -1, 0.0, 1.0)
        yield keys | {"quantity": "value_share_at_t_KQ"} | row
        by_half = stage_times(own[own["step"] <= block.steps // 2])["in_order"]
        shares = {"in_order": runs["in_order"], "in_order_by_half": by_half}
        for name, hits in (shares | {"diverged": runs["diverged_at"] >= 0}).items():
            few = name in shares and len(hits) < LEAST_RUNS
            row = share(int(hits.sum()), len(hits)) | {"state": "undecided" if few else ""}
            yield keys | {"quantity": f"share_{name}"} | row
