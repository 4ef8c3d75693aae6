"""Is the unigram model a local minimum of the whole transformer? Its curvature, run by run.

Where e = 0 the logit <e, z> + b does not depend on the input: with b = log(p / q) the model is the
unigram model, whatever the other weights are, and the loss is critical there. A trap or a way out
is made of this flat set by the curvature in e with b at its best for each e, the Schur complement

    S = H_ee - H_eb H_be / H_bb
      = sym E[(sigma(b) - y_t) dz_t / de] + sigma'(b) Cov(z_t),

with z_t and its covariance over the places t at e = 0. At small weights S is 2 h(0) I + ...,
h(0) = p q (p + q - 1) / (p + q)^2 of the canonical model (theorem 2): positive where p + q > 1.
W_1, W_2, W_V, W_O change dz_t / de as they are trained, along the flat set, and can turn it
negative.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from onelayer.settings.local_to_global import Chain


def curvature(parameters: Mapping[str, Tensor], x: Tensor, chain: Chain) -> Tensor:
    """The smallest eigenvalue of S at e = 0, [R], in units of 2 |h(0)|, other weights as they are.

    Parameters are those of the model without LayerNorm; on the inputs x, bool [R, B, T], the
    population loss is estimated.
    """
    of = {name: value.detach().double() for name, value in parameters.items()}
    one = x.double()  # [R, B, T]
    ones, zeros = (symbol.sum(dim=(1, 2), keepdim=True) for symbol in (one, 1 - one))
    weight = one * chain.pi1 / ones + (1 - one) * chain.pi0 / zeros  # as in population losses
    wrong = weight * (chain.pi1 - chain.p - (1 - chain.q - chain.p) * one)
    z, slope = _at_zero(of, one, wrong)
    at = weight.sum(dim=1).unsqueeze(-1)  # [R, T, 1], of every place
    apart = z - (at * z).sum(dim=1, keepdim=True)
    S = slope + slope.mT + chain.pi1 * chain.pi0 * (at * apart).mT @ apart
    unit = 2 * abs(chain.p * chain.q * (chain.p + chain.q - 1)) / (chain.p + chain.q) ** 2
    return torch.linalg.eigvalsh(S)[:, 0] / unit


def _at_zero(of: Mapping[str, Tensor], x: Tensor, wrong: Tensor) -> tuple[Tensor, Tensor]:
    """At e = 0: z_t, [R, T, d], the same for both symbols, and sum of wrong_t dz_t / de, [R, d, d].

    What attention mixes changes through the values, the query at t (where x_t = 1), and the keys.
    """
    p, scale = of["wpe"], of["wpe"].shape[-1] ** -0.5
    q, k, v = (p @ of[name].mT for name in ("W_Q", "W_K", "W_V"))
    later = torch.ones(p.shape[1], p.shape[1], dtype=torch.bool, device=p.device).triu(1)
    A = (scale * q @ k.mT).masked_fill(later, -torch.inf).softmax(dim=-1)  # [R, T, T]
    mixed, mean_key = A @ v, A @ k
    z = p + mixed @ of["W_O"].mT
    hidden, unit = z @ of["W_1"].mT, torch.eye(p.shape[-1], dtype=p.dtype, device=p.device)
    after = (hidden > 0).double().unsqueeze(-1) * of["W_1"].unsqueeze(1)
    after = unit + of["W_2"].unsqueeze(1) @ after
    here = (wrong * x).sum(dim=1)[..., None, None]  # [R, T, 1, 1]
    seen = A * (wrong.mT @ x)  # [R, T, T]: of the symbols s, weighted as wrong as t is
    past = seen.sum(dim=-1)[..., None, None]
    through_query = torch.einsum("rts,rsd,rsk->rtdk", A, v, k)
    through_query = scale * (through_query - mixed.unsqueeze(-1) * mean_key.unsqueeze(-2))
    through_keys = seen @ v - mixed * past[..., 0]
    through_keys = scale * through_keys.unsqueeze(-1) * (q @ of["W_K"]).unsqueeze(-2)
    moved = past * of["W_V"].unsqueeze(1) + here * through_query @ of["W_Q"].unsqueeze(1)
    moved = of["W_O"].unsqueeze(1) @ (moved + through_keys) + here * unit
    return z + hidden.relu() @ of["W_2"].mT, (after @ moved).sum(dim=1)
