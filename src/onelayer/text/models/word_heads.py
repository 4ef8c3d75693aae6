"""Checkpoints with the head that predicts their words, where they were published with one.

The probe reads bare models (`onelayer.text.models.checkpoints`). What a part of a model is good for
only shows in what the model predicts.
"""

from dataclasses import dataclass
from pathlib import Path

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy
from transformers import AutoModelForMaskedLM, AutoModelForPreTraining, PreTrainedModel

from onelayer.text.models.architecture import LOADED, quiet, read_config, readable
from onelayer.text.models.folder import published_bare

MASKS = ("[MASK]", "<mask>")
DISCRIMINATOR = "ElectraForPreTraining"


@dataclass(frozen=True)
class WordModel:
    """A model with the head that predicts words, in `eval()`, and what its loss is.

    `mask` is the id of the mask that hides a word; None of a discriminator (Clark et al. 2020),
    which is asked which words have been replaced by others.
    """

    model: PreTrainedModel
    mask: int | None

    @property
    def kind(self) -> str:
        """What is predicted, for readers."""
        if self.mask is None:
            return "which words were replaced"
        return "masked words" + ", by the decoder" * self.model.config.is_encoder_decoder

    def losses(self, ids: Tensor, positions: Tensor, targets: Tensor, truth: Tensor) -> Tensor:
        """The loss at every asked position, [texts, positions] (nats).

        An encoder-decoder reads the hidden text and writes the true one word by word: at each
        position its decoder knows the true words before it.

        Args:
            ids: what the model reads, [texts, tokens].
            positions: which words are asked for, [positions].
            targets: ids of the true words, or whether a discriminator's were replaced, [positions].
            truth: the text without anything hidden, [tokens].
        """
        written = {}
        if self.model.config.is_encoder_decoder:
            start = truth.new_tensor([self.model.config.decoder_start_token_id])
            written = {"decoder_input_ids": torch.cat([start, truth[:-1]]).expand(len(ids), -1)}
        chosen = self.model.base_model.register_forward_hook(_only(positions))
        try:
            logits = self.model(input_ids=ids, **written).logits.float()
        finally:
            chosen.remove()
        expected = targets.expand(len(ids), -1)
        if self.mask is None:
            return binary_cross_entropy_with_logits(logits, expected.float(), reduction="none")
        rows = cross_entropy(logits.flatten(0, 1), expected.flatten(), reduction="none")
        return rows.view(expected.shape)


def _only(positions: Tensor):
    """A hook that leaves of a bare model's output the positions at which words are predicted.

    The output layer knows ten thousand words and more: at every position it would cost several
    times the rest of a small model.
    """

    def hook(module: nn.Module, inputs: tuple, output):
        output.last_hidden_state = output.last_hidden_state[:, positions]
        return output

    return hook


def load_word_model(folder: Path, tokenizer: Tokenizer, device: str = "cpu") -> WordModel | str:
    """A checkpoint, as `onelayer.text.models.folder` has checked it, with its head, or why not.

    Raises:
        OnelayerError: as `read_config`; or transformers cannot load it.
    """
    if bare := published_bare(folder):
        return bare
    config = read_config(folder)
    published = (config.architectures or ["a bare model"])[0]
    discriminates = published == DISCRIMINATOR
    kind = AutoModelForPreTraining if discriminates else AutoModelForMaskedLM
    if type(config) not in kind._model_mapping:
        return f"transformers knows no masked-word head of {config.model_type}"
    mask_ids = map(tokenizer.token_to_id, MASKS)
    mask = next((piece for piece in mask_ids if piece is not None), None)
    if mask is None and not discriminates:
        return f"its tokenizer knows no {' and no '.join(MASKS)}"
    with quiet(), readable(folder):
        model, report = kind.from_pretrained(folder, trust_remote_code=False, **LOADED)
    if missing := sorted(report["missing_keys"]):
        return f"published without the head for words ({missing[0]} is missing)"
    return WordModel(model.eval().to(device), None if discriminates else mask)
