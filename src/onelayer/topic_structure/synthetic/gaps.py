"""The gap of W_V and of the embeddings under uniform attention, beside the theorems.

'Result: embeddings encode topic structure' and 'Stage 1 result: W_V encodes topic structure': at
the optimum and trained; and the matrices of the heat maps.
"""

import itertools
import math

import numpy as np
import pandas as pd

from onelayer.ensemble.execution import Execution
from onelayer.settings import topic_structure_synthetic as blocks
from onelayer.topic_structure.synthetic import optima
from onelayer.topic_structure.synthetic.data import SPECIAL, draw
from onelayer.topic_structure.synthetic.train import Run, train_runs

# W_V alone on one-hot words, or the embeddings alone: their kind, what is trained, the optimum, and
# the matrix of which the theorem says the gap, [runs, D, D].
ALONE = {
    "W_V": ("one_hot", "W_V", optima.ridge_value, lambda p: {"matrix": p["W_V"]}),
    "E": ("trained", "W_E", optima.ridge_embedding, lambda p: {"matrix": p["W_E"].mT @ p["W_E"]}),
}


def uniform_attention(
    base: blocks.SyntheticTraining, theory: blocks.TheorySettings, device: str = "cpu"
) -> tuple[pd.DataFrame, dict[str, np.ndarray]]:
    """Gaps of W_V and E alone, at the optimum and trained.

    Rows have `parameter` (W_V or E), `masked` (attended or hidden), the run (its optimizer
    `optimum`: not trained), `gap`, `theory`, `diverged_at`. Matrices are the first seed's W_V
    without weight decay by `W_V/loss/optimizer`, [D, D].
    """
    words, parts, matrices = base.model, [], {}
    for masked in ("attended", "hidden"):
        kind = {"tau": theory.tau, "masked_attended": masked == "attended"}
        rows = draw(words, theory.documents, theory.N, "theory", **kind)
        decays, expected = theory.weight_decays, optima.theory_gap(words)
        if masked == "hidden":
            visible = float(rows.keys[:, SPECIAL:].sum(axis=1).mean())
            decays, expected = [0.0], optima.theory_gap(words, visible)
        moments = optima.moments(rows)
        for parameter, (embedding, only, optimum, observe) in ALONE.items():
            runs = [Run(0, "optimum", math.nan, decay) for decay in decays]
            found = [("squared", runs, np.stack([optimum(moments, decay) for decay in decays]), -1)]
            for loss, rates in theory.rates[parameter].items():
                if masked == "hidden" and loss != "squared":
                    continue
                decayed = decays if loss == "squared" else [0.0]
                grid = itertools.product(rates.items(), decayed, range(theory.seeds))
                runs = [Run(seed, *rate, decay) for rate, decay, seed in grid]
                of = (base, rows.by_document(), runs, embedding, loss, theory.steps)
                trained = train_runs(*of, observe, only=only, execution=Execution(device))
                ends = trained.observed["matrix"][-1].numpy()
                found.append((loss, runs, ends, trained.diverged_at))
                for run, end in zip(runs, ends, strict=True):
                    if run.seed == run.weight_decay == 0 and (masked, only) == ("attended", "W_V"):
                        matrices[f"W_V/{loss}/{run.optimizer}"] = end
            for loss, runs, ends, diverged_at in found:
                part = pd.DataFrame(runs)[["optimizer", "weight_decay", "seed"]]
                part["gap"] = optima.gap(words, ends)
                part["theory"] = expected if loss == "squared" else math.nan
                setting = {"masked": masked, "parameter": parameter, "loss": loss}
                parts.append(part.assign(diverged_at=diverged_at, **setting))
    return pd.concat(parts, ignore_index=True), matrices


def all_components(
    base: blocks.SyntheticTraining, block: blocks.ComponentSettings, device: str = "cpu"
) -> dict[str, np.ndarray]:
    """E with everything trained, by `E/loss/optimizer`, [D, D]; NaN where it diverged."""
    matrices, (embedding, *_, observe) = {}, ALONE["E"]
    rows = draw(base.model, block.documents, block.N, "components", tau=block.tau)
    for loss, rates in block.rates.items():
        runs = [Run(0, optimizer, rate) for optimizer, rate in rates.items()]
        of = (base, rows, runs, embedding, loss, block.steps)
        trained = train_runs(*of, observe, execution=Execution(device))
        ends = trained.observed["matrix"][-1]
        ends[trained.diverged_at >= 0] = math.nan
        matrices |= {f"E/{loss}/{r.optimizer}": E.numpy() for r, E in zip(runs, ends, strict=True)}
    return matrices


def gap_grid(words: blocks.TopicModelSettings, grid: blocks.GapGridSettings) -> pd.DataFrame:
    """Gaps of W_V and E at their optima without weight decay, for every setting and seed.

    One number at a time is changed to those of the grid. Exactly the proportion p_m of the words is
    selected, as the paper defines it. E has the T dimensions that it has in the theorem: more only
    fit the noise of finite documents. `varied` is base, or what differs from it; `off` how far
    documents of the fewest words may take W_V's gap from the theorem's, whose are infinitely long.
    """
    same = {"v": words.v, "T": words.T, "p_m": words.p_m, "p_c": words.p_c, "tau": grid.tau}
    others = {"v": grid.v, "T": grid.T, "p_m": grid.p_m, "p_c": grid.p_c, "tau": grid.taus}
    settings = [{"varied": "base"} | same]
    for name, values in others.items():
        settings += [{"varied": name} | same | {name: value} for value in values]
    gaps = []
    for setting in settings:
        changed = {name: setting[name] for name in ("v", "T", "p_m", "p_c")}
        model = words.model_copy(update=changed | {"selection": "proportion"})
        setting["theory"] = theory = optima.theory_gap(model)
        setting["off"] = abs(optima.gap_at_length(model, setting["tau"], grid.N[0]) - theory)
        for seed in range(grid.seeds):
            of = {"tau": setting["tau"], "seed": seed}
            moments = optima.moments(draw(model, grid.documents, grid.N, "gap grid", **of))
            W_V = optima.ridge_value(moments, 0.0)
            E = optima.ridge_embedding(moments, 0.0, model.T)
            for parameter, optimum in (("W_V", W_V), ("E", E)):
                found = {"parameter": parameter, "gap": float(optima.gap(model, optimum))}
                gaps.append(setting | found | {"seed": seed})
    return pd.DataFrame(gaps)
