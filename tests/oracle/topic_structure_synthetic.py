"""The synthetic model of Li, Li & Risteski (2023) on sequences, written from the equations.

Every position attends to every key position, nothing is counted: slow, and obviously what the paper
says. `BertStyle` is what the authors' code trains, made of transformers' own BERT.
"""

import torch
from torch import Tensor
from torch.nn import functional
from transformers import BertConfig, BertForMaskedLM

from onelayer.topic_structure.synthetic.data import PAD

POSITIONS = 512  # tokens of the longest document that BertStyle takes


def sequence_loss(
    p: dict[str, Tensor],
    tokens: Tensor,
    shown: Tensor,
    selected: Tensor,
    embedding: str,
    loss: str,
    masked_attended: bool,
    uniform: bool,
) -> Tensor:
    """Mean loss of one run over the masked positions of a few documents, [documents, positions]."""
    D = next(iter(p.values())).shape[0]
    Z = functional.one_hot(shown, D).to(next(iter(p.values())).dtype)
    if embedding == "trained":
        Z = Z @ p["W_E"].T
    elif embedding == "layer_norm":
        Z = functional.layer_norm(Z + p["token_type"], (D,), p["gain"], p["shift"], eps=1e-12)
    scores = torch.zeros(*shown.shape, shown.shape[1], dtype=Z.dtype)
    if not uniform:
        queries = functional.linear(Z, p["W_Q"], p.get("b_Q"))
        scores = queries @ functional.linear(Z, p["W_K"]).mT / D**0.5
    values = functional.linear(Z, p["W_V"], p.get("b_V")) if "W_V" in p else Z
    attended = (shown != PAD) & (masked_attended | ~selected)
    f = scores.masked_fill(~attended[:, None, :], float("-inf")).softmax(dim=-1) @ values
    if "W_E" in p:
        f = f @ p["W_E"]
    if "b" in p:
        f = f + p["b"]
    f, words = f[selected], tokens[selected]
    if loss == "cross_entropy":
        return functional.cross_entropy(f, words)
    errors = functional.mse_loss(f, functional.one_hot(words, D).to(f.dtype), reduction="none")
    return errors.mean() if loss == "mean_squared" else errors.sum(dim=-1).mean()


class BertStyle(torch.nn.Module):
    """`BertForMaskedLM` reduced as the authors reduce it: embeddings and attention, nothing else.

    `parameters` are of one run with embedding `layer_norm`, by the names of `model.PARAMETERS`.
    """

    def __init__(self, parameters: dict[str, Tensor]) -> None:
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

    def forward(self, shown: Tensor, attended: Tensor) -> Tensor:
        """Outputs [documents, positions, D] for token ids and a mask of what is attended to."""
        Z = self.embeddings(input_ids=shown)
        hidden = torch.zeros(attended.shape, dtype=Z.dtype).masked_fill(~attended, -torch.inf)
        return self.attention(Z, attention_mask=hidden[:, None, None, :])[0]
