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

import math
from collections.abc import Mapping

import pandas as pd
import torch
from torch import Tensor

from onelayer.compute.execution import Execution
from onelayer.papers.local_to_global.chain import Chain
from onelayer.papers.local_to_global.training import train_variants
from onelayer.papers.local_to_global.transformer import population_losses
from onelayer.settings.local_to_global import TRAP_STARTS, TrapSettings

STEP = 1e-4  # of the differences; the slope's rounding is 1e-16, so that 1e-8 is right


def curvature(parameters: Mapping[str, Tensor], x: Tensor, chain: Chain) -> Tensor:
    """The smallest eigenvalue of S at e = 0, [R], the other weights as they are.

    In units of 2 |h(0)|: 1 at small weights where p + q > 1.

    Args:
        parameters: of every run.
        x: inputs on which the population loss is estimated, bool [R, B, T].
        chain: whose symbols they are.
    """
    held = {name: value.detach().double() for name, value in parameters.items()}
    best, d = math.log(chain.p / chain.q), held["e"].shape[1]

    def slope(step: Tensor) -> Tensor:
        """The gradient in (e, b), [R, d + 1], a step [d + 1] from the unigram model."""
        both = step.expand(len(held["b"]), -1).clone().requires_grad_()
        with torch.enable_grad():
            moved = held | {"e": both[:, :d], "b": best + both[:, d]}
            return torch.autograd.grad(population_losses(moved, x, chain).sum(), both)[0]

    # Central differences: attention's own backward pass has no derivative.
    steps = STEP * torch.eye(d + 1, dtype=torch.float64, device=x.device)
    hessian = torch.stack([(slope(one) - slope(-one)) / (2 * STEP) for one in steps], dim=1)
    hessian = (hessian + hessian.mT) / 2
    H_ee, H_eb, H_bb = hessian[:, :d, :d], hessian[:, :d, d:], hessian[:, d:, d:]
    least = torch.linalg.eigvalsh(H_ee - H_eb @ H_eb.mT / H_bb)[:, 0]
    unit = 2 * abs(chain.p * chain.q * (chain.p + chain.q - 1)) / (chain.p + chain.q) ** 2
    return least / unit


def train_trap(settings: TrapSettings, execution: Execution = Execution()) -> pd.DataFrame:
    """Both starts and what is trained everywhere on every chain, the variants on the first.

    Returns:
        Rows `p`, `q`, `variant`, `seed`, `iteration`, `loss` (population, nats), `curvature`.
    """
    every = [*TRAP_STARTS, *settings.everywhere]
    found = {}
    for place, chain in enumerate(settings.chains):
        found[chain.p, chain.q] = train_variants(
            every + settings.variants * (place == 0),
            settings.of(chain),
            execution.part(place),
            quantities=("loss", "curvature"),
            also=lambda *of_runs: {"curvature": curvature(*of_runs)},
        )
    return pd.concat(found, names=["p", "q"]).droplevel(-1).reset_index()
