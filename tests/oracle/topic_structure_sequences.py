"""The synthetic model of the topic-structure paper on sequences, written from the equations.

Every position attends to every key position, nothing is counted: slow, and obviously what the paper
says.
"""

import torch
from torch import Tensor
from torch.nn import functional

from onelayer.papers.topic_structure.synthetic.data import PAD


def sequence_loss(
    parameters: dict[str, Tensor],
    tokens: Tensor,
    shown: Tensor,
    selected: Tensor,
    embedding: str,
    loss: str,
    masked_attended: bool,
    uniform: bool,
) -> Tensor:
    """Mean loss of one run over the masked positions of a few documents, [documents, positions]."""
    D = next(iter(parameters.values())).shape[0]
    X = functional.one_hot(shown, D).to(next(iter(parameters.values())).dtype)
    if embedding == "trained":
        Z = X @ parameters["W_E"].T
    elif embedding == "layer_norm":
        with_type = X + parameters["token_type"]
        Z = functional.layer_norm(
            with_type, (D,), parameters["gain"], parameters["shift"], eps=1e-12
        )
    else:
        Z = X
    queries, keys, values = Z, Z, Z
    if not uniform:
        queries = functional.linear(Z, parameters["W_Q"], parameters.get("b_Q"))
        keys = functional.linear(Z, parameters["W_K"])
    if "W_V" in parameters:
        values = functional.linear(Z, parameters["W_V"], parameters.get("b_V"))
    scores = queries @ keys.mT / D**0.5
    if uniform:
        scores = torch.zeros_like(scores)
    key_mask = shown != PAD
    if not masked_attended:
        key_mask = key_mask & ~selected
    scores = scores.to(X.dtype).masked_fill(~key_mask[:, None, :], float("-inf"))
    mixed = scores.softmax(dim=-1) @ values
    f = mixed @ parameters["W_E"] if embedding == "trained" else mixed
    if "b" in parameters:
        f = f + parameters["b"]
    f, words = f[selected], tokens[selected]
    if loss == "cross_entropy":
        return functional.cross_entropy(f, words)
    errors = functional.mse_loss(f, functional.one_hot(words, D).to(f.dtype), reduction="none")
    return errors.mean() if loss == "mean_squared" else errors.sum(dim=-1).mean()
