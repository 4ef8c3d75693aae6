"""Where the transformers start: standard, rank-one, and the paper's own (Figs. 4 and 6)."""

import math

import torch
from torch import Tensor

from onelayer.ensemble import RunRandom
from onelayer.settings.local_to_global import Start, TrainingSettings

STD = 0.02  # of the standard initialisation
STDS = dict.fromkeys(("W_O", "W_2"), STD / math.sqrt(2))  # of what writes to the residual stream


def start(name: Start, training: TrainingSettings, random: RunRandom) -> dict[str, Tensor]:
    """Initial parameters by name, [runs, ...], from one of the starts; gains of LayerNorm are 1."""
    T, d, rows = training.sequence_length, training.d, training.embedding_rows
    if name == "standard":
        parameters = standard(random, T, d, rows)
    elif name == "rank_one":
        parameters = rank_one(random, T, d)
    else:
        parameters = paper(random, T, d, rows, W=1.0 if name == "paper" else 0.25)
    if training.layer_norm:
        gain = torch.ones_like(parameters["wpe"][:, 0])
        parameters |= {key: gain.clone() for key in ("ln_attention", "ln_mlp", "ln_final")}
    return parameters


def standard(random: RunRandom, T: int, d: int, rows: int = 1) -> dict[str, Tensor]:
    """N(0, .02^2), of W_O and W_2 N(0, .02^2 / 2); b = 0. `rows`: one embedding vector, or two."""
    shapes = {"e": (d,)} if rows == 1 else {"rows": (rows, d)}
    shapes |= {"wpe": (T, d)} | dict.fromkeys(("W_Q", "W_K", "W_V", "W_O"), (d, d))
    shapes |= {"W_1": (4 * d, d), "W_2": (d, 4 * d)}
    drawn = {
        name: STDS.get(name, STD) * random.normal(*shape, use=f"initial {name}")
        for name, shape in shapes.items()
    }
    return drawn | {"b": torch.zeros(len(random.seeds), device=random.seeds.device)}


def rank_one(random: RunRandom, T: int, d: int) -> dict[str, Tensor]:
    """The structure of the canonical model, as large as the standard initialisation.

    With alpha uniform in {-1, 1}^d / sqrt(d): e = c alpha, p_t = -c/2 alpha, W_1 = c 1 alpha^T,
    W_2 = c alpha 1^T and the attention matrices c alpha alpha^T, every c drawn from a normal law
    such that the expected squared norm is that of the standard initialisation (p_t follows e).
    """
    parameters = standard(random, T, d)
    signs = random.uniform(d, use="initial alpha") < 0.5
    alpha = torch.where(signs, 1.0, -1.0) / math.sqrt(d)

    def scalar(name: str) -> Tensor:
        std = STDS.get(name, STD) * math.sqrt(parameters[name][0].numel())
        return std * random.normal(1, 1, use=f"initial scale {name}")

    column, row = alpha[:, :, None], alpha[:, None]
    ones = alpha.new_full((len(alpha), 4 * d, 1), 1 / math.sqrt(4 * d))
    outer = dict.fromkeys(("W_Q", "W_K", "W_V", "W_O"), (column, row))
    outer |= {"W_1": (ones, row), "W_2": (column, ones.mT)}
    scaled = {name: scalar(name) * left * right for name, (left, right) in outer.items()}
    e = scalar("e")[..., 0] * alpha
    return parameters | {"e": e, "wpe": (-e / 2)[:, None].repeat(1, T, 1)} | scaled


def paper(random: RunRandom, T: int, d: int, rows: int, W: float) -> dict[str, Tensor]:
    """The paper's initialisation, rank one with constant rows; attention as standard.

    e = 1/2 and p_t = -1/4, W_1 = W and W_2 = -W in every entry: in the basin of the global minimum
    for p + q > 1. With d = 8, W = .25 is the canonical point (e, w) = (1.41, -2), W = 1 lies
    further out. Two constant embedding rows are alike until the tied logit's gradient parts them.
    """
    constants = {"e": 0.5, "rows": 0.5, "wpe": -0.25, "W_1": W, "W_2": -W}
    return {
        name: torch.full_like(drawn, constants[name]) if name in constants else drawn
        for name, drawn in standard(random, T, d, rows).items()
    }
