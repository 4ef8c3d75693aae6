"""The gap of W_V and of the embeddings under uniform attention, beside the theorems.

'Result: embeddings encode topic structure' and 'Stage 1 result: W_V encodes topic structure', in
closed form and trained; and the matrices of the heat maps.
"""

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from onelayer.ensemble.execution import Execution
from onelayer.settings.topic_structure_synthetic import (
    ComponentSettings,
    GapGridSettings,
    SyntheticTraining,
    TheorySettings,
    TopicModelSettings,
)
from onelayer.topic_structure.synthetic import closed_form
from onelayer.topic_structure.synthetic.data import SPECIAL, Vocabulary, draw
from onelayer.topic_structure.synthetic.train import Run, train_runs

# W_V alone on one-hot words, or the embeddings alone: their kind, what is trained, the optimum.
ALONE = {
    "W_V": ("one_hot", "W_V", closed_form.ridge_value),
    "E": ("trained", "W_E", closed_form.ridge_embedding),
}
# The matrices of which the theorems say the gap, [runs, D, D].
OBSERVED = {
    "W_V": lambda p: {"matrix": p["W_V"]},
    "E": lambda p: {"matrix": p["W_E"].mT @ p["W_E"]},
}


def uniform_attention(
    base: SyntheticTraining, theory: TheorySettings, device: str = "cpu"
) -> tuple[pd.DataFrame, dict[str, np.ndarray]]:
    """Gaps of W_V and E alone, in closed form and trained.

    Returns:
        Rows `parameter` (W_V or E), `masked` (attended or hidden), `loss`, `optimizer`,
        `weight_decay`, `seed`, `gap`, `theory`, `diverged_at`; and the first seed's W_V without
        weight decay by `W_V/loss/optimizer`, [D, D].
    """
    words, vocabulary = base.model, Vocabulary(base.model.T, base.model.v)
    parts, matrices = [], {}

    def add(runs: Sequence[Run], found: np.ndarray, **columns: object) -> None:
        of_runs = pd.DataFrame(runs)[["optimizer", "weight_decay", "seed"]]
        parts.append(of_runs.assign(gap=closed_form.gap(vocabulary, found), **columns))

    for masked, losses in (("attended", ("squared", "cross_entropy")), ("hidden", ("squared",))):
        kind = {"tau": theory.tau, "masked_attended": masked == "attended"}
        rows = draw(words, theory.documents, theory.N, "theory", **kind)
        decays, expected = theory.weight_decays, closed_form.theory_gap(words)
        if masked == "hidden":
            visible = float(rows.keys[:, SPECIAL:].sum(axis=1).mean())
            decays, expected = [0.0], closed_form.theory_gap_hidden(words.v, visible)
        moments = closed_form.moments(rows)
        for parameter, (embedding, only, optimum) in ALONE.items():
            setting = {"masked": masked, "parameter": parameter, "loss": "squared"}
            runs = [Run(0, "closed form", math.nan, decay) for decay in decays]
            optima = np.stack([optimum(moments, decay) for decay in decays])
            add(runs, optima, theory=expected, diverged_at=-1, **setting)
            for loss in losses:
                runs, observe = _runs(theory, parameter, loss, decays), OBSERVED[parameter]
                how = {"only": only, "execution": Execution(device)}
                of = (base, rows.by_document(), runs, embedding, loss, theory.steps, observe)
                trained = train_runs(*of, **how)
                found = trained.observed["matrix"][-1].numpy()
                setting |= {"loss": loss, "theory": expected if loss == "squared" else math.nan}
                add(runs, found, diverged_at=trained.diverged_at, **setting)
                if masked == "attended" and parameter == "W_V":
                    for run, W_V in zip(runs, found, strict=True):
                        if run.seed == 0 and run.weight_decay == 0:
                            matrices[f"W_V/{loss}/{run.optimizer}"] = W_V
    return pd.concat(parts, ignore_index=True), matrices


def _runs(theory: TheorySettings, parameter: str, loss: str, decays: Sequence[float]) -> list[Run]:
    sgd = theory.sgd_rate_value if parameter == "W_V" else theory.sgd_rate_embedding
    rates = {"adam": theory.adam_rate, "sgd": sgd}
    if loss == "cross_entropy":
        rates, decays = theory.cross_entropy_rates, [0.0]
    return [
        Run(seed, optimizer, rate, decay)
        for optimizer, rate in rates.items()
        for decay in decays
        for seed in range(theory.seeds)
    ]


def all_components(
    base: SyntheticTraining, block: ComponentSettings, device: str = "cpu"
) -> dict[str, np.ndarray]:
    """E with everything trained, by `E/loss/optimizer`, [D, D]; NaN where it diverged."""
    matrices, how = {}, {"execution": Execution(device)}
    rows = draw(base.model, block.documents, block.N, "components", tau=block.tau)
    for loss, rates in block.rates.items():
        runs = [Run(0, optimizer, rate) for optimizer, rate in rates.items()]
        trained = train_runs(base, rows, runs, "trained", loss, block.steps, OBSERVED["E"], **how)
        ends = trained.observed["matrix"][-1]
        ends[trained.diverged_at >= 0] = math.nan
        matrices |= {f"E/{loss}/{r.optimizer}": E.numpy() for r, E in zip(runs, ends, strict=True)}
    return matrices


def gap_grid(words: TopicModelSettings, grid: GapGridSettings) -> pd.DataFrame:
    """Gaps of W_V and E at their optima without weight decay, for every setting and seed.

    One number at a time is changed to those of the grid. Exactly the proportion p_m of the words is
    selected, as the paper defines it. E has the T dimensions that it has in the theorem: more only
    fit the noise of finite documents.

    Returns:
        Rows `parameter` (W_V or E), `varied` (base, or what differs from it), `v`, `T`, `p_m`,
        `p_c`, `tau`, `seed`, `gap`, `theory`.
    """
    same = {name: getattr(words, name) for name in ("v", "T", "p_m", "p_c")} | {"tau": grid.tau}
    settings = [{"varied": "base"} | same]
    for name, key in (("v", "v"), ("T", "T"), ("p_m", "p_m"), ("p_c", "p_c"), ("tau", "taus")):
        settings += [{"varied": name} | same | {name: value} for value in getattr(grid, key)]
    gaps = []
    for setting in settings:
        own = {name: setting[name] for name in ("v", "T", "p_m", "p_c")}
        model = words.model_copy(update=own | {"selection": "proportion"})
        theory, vocabulary = closed_form.theory_gap(model), Vocabulary(model.T, model.v)
        for seed in range(grid.seeds):
            of = {"tau": setting["tau"], "seed": seed}
            rows = draw(model, grid.documents, grid.N, "gap grid", **of)
            moments = closed_form.moments(rows)
            optima = {
                "W_V": closed_form.ridge_value(moments, 0.0),
                "E": closed_form.ridge_embedding(moments, 0.0, model.T),
            }
            for parameter, optimum in optima.items():
                found = {"parameter": parameter, "gap": float(closed_form.gap(vocabulary, optimum))}
                gaps.append(setting | found | {"seed": seed, "theory": theory})
    return pd.DataFrame(gaps)
