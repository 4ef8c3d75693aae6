"""Is the unigram model a local minimum of the whole transformer? Its curvature, run by run.

Where e = 0 the logit <e, z> + b does not depend on the input: with b = log(p / q) the model is the
unigram model, whatever the other weights are, and the loss is critical there. All such points form
a flat set. Of the Hessian there only the part in e and b is not 0; what makes the set a trap or a
way out is the curvature across it, in e with b at its best for each e, the Schur complement

    S = H_ee - H_eb H_be / H_bb
      = sym E[(sigma(b) - y_t) dz_t / de] + sigma'(b) Cov(p_t'),

with p_t' what z_t is at e = 0, and its covariance over the places t. At small weights S is 2 h(0) I
+ ..., h(0) = p q (p + q - 1) / (p + q)^2 of the canonical model (Makkuva et al. 2024, theorem 2):
positive where p + q > 1. W_1, W_2, W_V, W_O change dz_t / de as they are trained, along the flat
set, and can turn it negative.
"""

from collections.abc import Mapping

import pandas as pd
import torch
from torch import Tensor

from onelayer.ensemble.execution import Execution
from onelayer.local_to_global.chain import Chain
from onelayer.local_to_global.training import train_variants
from onelayer.local_to_global.transformer import last_vectors
from onelayer.settings.local_to_global import TrapSettings

STEP = 1e-6  # of the differences of z_t: rounding 1e-10, and few hidden units switch within it


def curvature(parameters: Mapping[str, Tensor], x: Tensor, chain: Chain) -> Tensor:
    """The smallest eigenvalue of S at e = 0, [R], the other weights as they are.

    In units of 2 |h(0)|: 1 at small weights where p + q > 1.

    Args:
        parameters: of every run.
        x: inputs on which the population loss is estimated, bool [R, B, T].
        chain: whose symbols they are.
    """
    held = {name: value.detach().double() for name, value in parameters.items()}
    R, d = held["e"].shape

    def at(e: Tensor) -> Tensor:
        """z_t of every run at an e [d], [R, B, T, d]."""
        return last_vectors(held | {"e": e.expand(R, d)}, x)[1]

    one = x.double().flatten(1)[:, None]  # [R, 1, B T]
    ones, zeros = (symbol.sum(dim=2, keepdim=True) for symbol in (one, 1 - one))
    weight = one * chain.pi1 / ones + (1 - one) * chain.pi0 / zeros  # as in population losses
    wrong = weight * (chain.pi1 - chain.p - (1 - chain.q - chain.p) * one)
    steps = STEP * torch.eye(d, dtype=torch.float64, device=x.device)
    slopes = [wrong @ (at(step) - at(-step)).flatten(1, 2) / (2 * STEP) for step in steps]
    first = torch.cat(slopes, dim=1)
    z = at(torch.zeros_like(steps[0])).flatten(1, 2)
    apart = z - weight @ z
    S = first + first.mT + chain.pi1 * chain.pi0 * (weight.mT * apart).mT @ apart
    unit = 2 * abs(chain.p * chain.q * (chain.p + chain.q - 1)) / (chain.p + chain.q) ** 2
    return torch.linalg.eigvalsh(S)[:, 0] / unit


def train_trap(settings: TrapSettings, execution: Execution = Execution()) -> pd.DataFrame:
    """Train every variant on every chain.

    Returns:
        `training.curves` with `p` and `q` before them and `curvature` behind.
    """
    parts = []
    for place, one in enumerate(settings.chains):
        curves = train_variants(
            settings.variants,
            settings,
            Chain(one.p, one.q),
            execution.part(place),
            also=lambda *of_runs: {"curvature": curvature(*of_runs)},
        )
        parts.append(pd.concat({(one.p, one.q): curves}, names=["p", "q"]).droplevel(-1))
    return pd.concat(parts).reset_index()
