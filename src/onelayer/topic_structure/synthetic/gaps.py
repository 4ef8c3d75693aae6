"""The gap of W_V and of the embeddings under uniform attention, beside the theorems.

'Result: embeddings encode topic structure' and 'Stage 1 result: W_V encodes topic structure': at
the optimum and trained; and the matrices of the heat maps.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from torch import Tensor

from onelayer.ensemble.execution import Execution
from onelayer.settings import topic_structure_synthetic as blocks
from onelayer.topic_structure.synthetic import optima
from onelayer.topic_structure.synthetic.data import SPECIAL, CountRows, draw
from onelayer.topic_structure.synthetic.train import Run, train_runs


class Theorem(NamedTuple):
    """A matrix of which a theorem says the gap, being the only one trained."""

    embedding: blocks.EmbeddingKind
    trained: str
    optimum: Callable[[optima.Moments, float], np.ndarray]  # of a weight decay, [D, D]
    observe: Callable[[dict[str, Tensor]], dict[str, Tensor]]  # the `matrix`, [runs, D, D]


W_V = Theorem("one_hot", "W_V", optima.ridge_value, lambda p: {"matrix": p["W_V"]})
E = Theorem("trained", "W_E", optima.ridge_embedding, lambda p: {"matrix": p["W_E"].mT @ p["W_E"]})
THEOREMS = {"W_V": W_V, "E": E}


def uniform_attention(
    base: blocks.SyntheticTraining, theory: blocks.TheorySettings, device: str = "cpu"
) -> tuple[pd.DataFrame, dict[str, np.ndarray]]:
    """Gaps of W_V and E alone, at the optimum and trained; and heat maps of the trained W_V.

    Rows have `parameter` (W_V or E), `masked` (attended or hidden), the run (its optimizer
    `optimum`: not trained), `gap`, `theory`, `diverged_at`.
    """
    words, parts, maps = base.model, [], {}
    for masked in ("attended", "hidden"):
        attended, to_draw = masked == "attended", (theory.documents, theory.N, "theory")
        rows = draw(words, *to_draw, tau=theory.tau, masked_attended=attended)
        visible = None if attended else float(rows.keys[:, SPECIAL:].sum(axis=1).mean())
        expected, moments = optima.theory_gap(words, visible), optima.moments(rows)
        decays = theory.weight_decays if attended else [0.0]
        for name, theorem in THEOREMS.items():
            optimal = np.stack([theorem.optimum(moments, decay) for decay in decays])
            solved = pd.DataFrame({"weight_decay": decays}).assign(
                loss="squared", optimizer="optimum", seed=0, diverged_at=-1
            )
            rates = theory.rates[name]
            if not attended:
                rates = {"squared": rates["squared"]}
            runs, trained = train_each_loss(
                *(base, rows.by_document(), theorem, rates, theory.steps),
                trained=[theorem.trained],
                decays=decays,
                seeds=theory.seeds,
                device=device,
            )
            for table, matrices in ((solved, optimal), (runs, trained)):
                table["gap"] = optima.gap(words, matrices)
                table["theory"] = np.where(table["loss"] == "squared", expected, math.nan)
                parts.append(table.assign(masked=masked, parameter=name))
            if attended and name == "W_V":
                maps = heat_maps(name, runs, trained)
    return pd.concat(parts, ignore_index=True), maps


def all_components(
    base: blocks.SyntheticTraining, block: blocks.ComponentSettings, device: str = "cpu"
) -> dict[str, np.ndarray]:
    """Heat maps of E with everything trained."""
    rows = draw(base.model, block.documents, block.N, "components", tau=block.tau)
    runs, matrices = train_each_loss(base, rows, E, block.rates, block.steps, device=device)
    return heat_maps("E", runs, matrices)


def train_each_loss(
    base: blocks.SyntheticTraining,
    rows: CountRows,
    theorem: Theorem,
    rates: blocks.LearningRates,
    steps: int,
    *,
    trained: Sequence[str] | None = None,
    decays: Sequence[float] = (0.0,),
    seeds: int = 1,
    device: str,
) -> tuple[pd.DataFrame, np.ndarray]:
    """Runs of each loss, decayed for squared loss alone, and their matrices, [runs, D, D]."""
    tables, matrices = [], []
    for loss, rate_of in rates.items():
        grid = itertools.product(
            rate_of.items(), decays if loss == "squared" else [0.0], range(seeds)
        )
        runs = [Run(seed, *rate, decay) for rate, decay, seed in grid]
        done = train_runs(
            *(base, rows, runs, theorem.embedding, loss, steps, theorem.observe),
            trained=trained,
            execution=Execution(device),
        )
        table = pd.DataFrame(runs)[["optimizer", "weight_decay", "seed"]]
        tables.append(table.assign(loss=loss, diverged_at=done.diverged_at.numpy()))
        matrices.append(done.observed["matrix"][-1].numpy())
    return pd.concat(tables, ignore_index=True), np.concatenate(matrices)


def heat_maps(name: str, runs: pd.DataFrame, matrices: np.ndarray) -> dict[str, np.ndarray]:
    """The first seed's matrices without weight decay, by `name/loss/optimizer`; NaN: diverged."""
    shown = runs[(runs["seed"] == 0) & (runs["weight_decay"] == 0)]
    return {
        f"{name}/{run.loss}/{run.optimizer}": np.where(run.diverged_at < 0, matrices[place], np.nan)
        for place, run in shown.iterrows()
    }


def gap_grid(words: blocks.TopicModelSettings, grid: blocks.GapGridSettings) -> pd.DataFrame:
    """Gaps of W_V and E at their optima without weight decay, for every setting and seed.

    One number at a time is changed to those of the grid. Exactly the proportion p_m of the words is
    selected, as the paper defines it. E has the T dimensions that it has in the theorem: more only
    fit the noise of finite documents. `varied` is base, or what differs from it; `off` how far
    documents of the fewest words may take W_V's gap from the theorem's, whose are infinitely long.
    """
    own = {"v": words.v, "T": words.T, "p_m": words.p_m, "p_c": words.p_c, "tau": grid.tau}
    others = {"v": grid.v, "T": grid.T, "p_m": grid.p_m, "p_c": grid.p_c, "tau": grid.taus}
    settings = [{"varied": "base"} | own]
    for name, values in others.items():
        settings += [{"varied": name} | own | {name: value} for value in values]
    gaps = []
    for setting in settings:
        changed = {name: setting[name] for name in ("v", "T", "p_m", "p_c")}
        model, tau = words.model_copy(update=changed | {"selection": "proportion"}), setting["tau"]
        setting["theory"] = theory = optima.theory_gap(model)
        setting["off"] = abs(optima.gap_at_length(model, tau, grid.N[0]) - theory)
        for seed in range(grid.seeds):
            rows = draw(model, grid.documents, grid.N, "gap grid", tau=tau, seed=seed)
            moments = optima.moments(rows)
            optimal = {"W_V": optima.ridge_value(moments, 0.0)}
            optimal["E"] = optima.ridge_embedding(moments, 0.0, model.T)
            for parameter, matrix in optimal.items():
                gap = float(optima.gap(model, matrix))
                gaps.append(setting | {"parameter": parameter, "gap": gap, "seed": seed})
    return pd.DataFrame(gaps)
