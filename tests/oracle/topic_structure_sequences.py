"""The synthetic model of the topic-structure paper on sequences, written from the equations.

Every position attends to every key position, nothing is counted: slow, and obviously what the paper
says.
"""

import torch
from torch import Tensor
from torch.nn import functional
from transformers import BertConfig, BertForMaskedLM

from onelayer.papers.topic_structure.synthetic.data import PAD

POSITIONS = 512  # tokens of the longest document that BertStyle takes


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
    if embedding in ("trained", "tied_residual"):
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
    if embedding == "tied_residual":
        mixed = mixed + Z
    f = mixed @ parameters["W_E"] if "W_E" in parameters else mixed
    if embedding == "residual":
        f = f + functional.linear(Z, parameters["W_R"])
    if "b" in parameters:
        f = f + parameters["b"]
    f, words = f[selected], tokens[selected]
    if loss == "cross_entropy":
        return functional.cross_entropy(f, words)
    errors = functional.mse_loss(f, functional.one_hot(words, D).to(f.dtype), reduction="none")
    return errors.mean() if loss == "mean_squared" else errors.sum(dim=-1).mean()


class BertStyle(torch.nn.Module):
    """`BertForMaskedLM` reduced as the authors reduce it: embeddings and attention, nothing else.

    Args:
        parameters: of one run with embedding `layer_norm`, by the names of `model.shapes`; their
            type is the model's.
    """

    def __init__(self, parameters: dict[str, torch.Tensor]) -> None:
        super().__init__()
        D = len(parameters["gain"])
        config = BertConfig(
            vocab_size=D,
            hidden_size=D,
            num_hidden_layers=1,
            num_attention_heads=1,
            intermediate_size=D,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
            max_position_embeddings=POSITIONS,
            attn_implementation="eager",
        )
        bert = BertForMaskedLM(config).bert
        self.embeddings, self.attention = bert.embeddings, bert.encoder.layer[0].attention.self
        own = {
            "embeddings.word_embeddings.weight": torch.eye(D),
            "embeddings.position_embeddings.weight": torch.zeros(POSITIONS, D),
            "embeddings.token_type_embeddings.weight": parameters["token_type"].repeat(2, 1),
            "embeddings.LayerNorm.weight": parameters["gain"],
            "embeddings.LayerNorm.bias": parameters["shift"],
            "attention.key.weight": parameters["W_K"],
            "attention.key.bias": torch.linspace(-1, 1, D),  # moves no softmax
            "attention.query.weight": parameters["W_Q"],
            "attention.query.bias": parameters["b_Q"],
            "attention.value.weight": parameters["W_V"],
            "attention.value.bias": parameters["b_V"],
        }
        self.to(parameters["gain"].dtype).load_state_dict(own, strict=False)
        for embedding in (self.embeddings.word_embeddings, self.embeddings.position_embeddings):
            embedding.weight.requires_grad_(False)

    def forward(self, shown: torch.Tensor, attended: torch.Tensor) -> torch.Tensor:
        """Outputs [documents, positions, D] for token ids and a mask of what is attended to."""
        Z = self.embeddings(input_ids=shown)
        hidden = torch.zeros(attended.shape, dtype=Z.dtype).masked_fill(~attended, -torch.inf)
        return self.attention(Z, attention_mask=hidden[:, None, None, :])[0]
