"""The gap of W_V and of the embeddings under uniform attention, beside the theorems.

'Result: embeddings encode topic structure' and 'Stage 1 result: W_V encodes topic structure': at
the optimum and trained; and the matrices of the heat maps.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

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
    `optimum`: not trained), `gap` (NaN: diverged), `theory`.
    """
    words, execution, parts, maps = base.model, Execution(device), [], {}
    for masked in ("attended", "hidden"):
        attended = masked == "attended"
        rows = draw(words, theory, "theory", theory.tau, attended)
        visible = None if attended else float(rows.keys[:, SPECIAL:].sum(axis=1).mean())
        expected, moments = optima.theory_gap(words, visible), optima.moments(rows)
        decays = theory.weight_decays if attended else [0.0]
        for name, theorem in THEOREMS.items():
            optimal = np.stack([theorem.optimum(moments, decay) for decay in decays])
            best = pd.DataFrame({"optimizer": "optimum", "weight_decay": decays, "loss": "squared"})
            rates = theory.rates[name] if attended else {"squared": theory.rates[name]["squared"]}
            runs, trained = train_each_loss(
                *(base, rows.by_document(), theorem, rates, decays, theory.seeds),
                steps=theory.steps,
                trained=[theorem.trained],
                execution=execution,
            )
            for table, matrices in ((best, optimal), (runs, trained)):
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
    rows, how = draw(base.model, block, "components", block.tau), {"execution": Execution(device)}
    runs, matrices = train_each_loss(base, rows, E, block.rates, steps=block.steps, **how)
    return heat_maps("E", runs, matrices)


def train_each_loss(
    base: blocks.SyntheticTraining,
    rows: CountRows,
    theorem: Theorem,
    rates: blocks.LearningRates,
    decays: Sequence[float] = (0.0,),
    seeds: int = 1,
    **how: Any,
) -> tuple[pd.DataFrame, np.ndarray]:
    """Runs of each loss, decayed for squared loss alone, and their matrices, [runs, D, D].

    `how` are arguments of `train_runs`. A run that diverged has NaN.
    """
    tables, matrices = [], []
    for loss, rate_of in rates.items():
        decayed = decays if loss == "squared" else [0.0]
        grid = itertools.product(rate_of.items(), decayed, range(seeds))
        runs = [Run(seed, *rate, decay) for rate, decay, seed in grid]
        kind = {"embedding": theorem.embedding, "loss": loss, "observe": theorem.observe}
        done = train_runs(base, rows, runs, **kind, **how)
        ends = done.observed["matrix"][-1]
        ends[done.diverged_at >= 0] = math.nan
        matrices.append(ends.numpy())
        tables.append(pd.DataFrame(runs)[["optimizer", "weight_decay", "seed"]].assign(loss=loss))
    return pd.concat(tables, ignore_index=True), np.concatenate(matrices)


def heat_maps(name: str, runs: pd.DataFrame, matrices: np.ndarray) -> dict[str, np.ndarray]:
    """The first seed's matrices without weight decay, by `name/loss/optimizer`."""
    shown = runs[(runs["seed"] == 0) & (runs["weight_decay"] == 0)]
    return {f"{name}/{run.loss}/{run.optimizer}": matrices[run.Index] for run in shown.itertuples()}


def gap_grid(words: blocks.TopicModelSettings, grid: blocks.GapGridSettings) -> pd.DataFrame:
    """Gaps of W_V and E at their optima without weight decay, for every setting and seed.

    One number at a time is changed to those of the grid. Exactly the proportion p_m of the words is
    selected, as the paper defines it. E has the T dimensions that it has in the theorem: more only
    fit the noise of finite documents. What their number adds is taken off: twice the gap of all
    documents less the mean of those of both halves (a jackknife, Quenouille 1956). `varied` is
    base, or what differs from it; `off` how far documents of the fewest words may take either gap
    from the theorem's, whose are infinitely long.
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
            halves = (draw(model, grid, f"gap grid {half}", tau, seed=seed) for half in range(2))
            first, second = (np.array(optima.moments(rows)) for rows in halves)
            moments = first, second, (first + second) / 2
            optimal = {"W_V": [optima.ridge_value(of, 0.0) for of in moments]}
            optimal["E"] = [optima.ridge_embedding(of, 0.0, model.T) for of in moments]
            for parameter, matrices in optimal.items():
                gap = float(optima.gap(model, np.array(matrices)) @ [-0.5, -0.5, 2.0])
                gaps.append(setting | {"parameter": parameter, "gap": gap, "seed": seed})
    return pd.DataFrame(gaps)
