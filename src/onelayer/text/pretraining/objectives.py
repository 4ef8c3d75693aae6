"""The pretraining objectives of the families, on transformers' own classes.

Every objective turns segments into arrays (`inputs`) and those into losses (`losses`). Output
layers see the predicted positions only: with a vocabulary of ten thousand words they would
otherwise cost several times the rest of the model. The bias of each output layer starts at the
logarithm of the words' frequencies; embeddings then need not learn them.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import torch
import transformers
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy
from transformers import AutoConfig, PreTrainedConfig, PreTrainedModel

from onelayer.compute.device import on_gpu
from onelayer.compute.seeds import generator, stable_seed
from onelayer.settings.pretraining import ObjectiveSettings, SizeSettings
from onelayer.text.pretraining.text import Batch, Segments
from onelayer.text.pretraining.vocabulary import CLS_ID, MASK_ID, PAD_ID, SEP_ID, SPECIAL


@dataclass(frozen=True)
class Words:
    """What objectives know of the vocabulary."""

    predictable: np.ndarray  # pieces that may be chosen for prediction, [pieces] bool
    occurrences: np.ndarray  # of each piece in the training text, [pieces]

    def __len__(self) -> int:
        return len(self.predictable)

    def log_unigram(self) -> Tensor:
        """Log-frequency of each piece among the predictable ones, each counted once more."""
        counts = self.occurrences * self.predictable + 1.0
        return torch.from_numpy(np.log(counts / counts.sum())).float()


class Masked(NamedTuple):
    """A batch with words to be predicted."""

    ids: np.ndarray  # what the model reads, [rows, words]
    predicted: np.ndarray  # which words it must predict, [rows, words] bool


class Objective:
    """One family's objective; `model` holds everything that is trained, `saved` what is published.

    Attributes:
        special: special pieces added to each segment.
        masks_change: whether a segment is masked anew in every epoch (dynamic masking).
        hidden_as: shares of the chosen words that become the mask, and another word; the rest stay.
            Settings can say others.
    """

    special: ClassVar[int] = 2
    masks_change: ClassVar[bool] = True
    hidden_as: tuple[float, float] = (0.8, 0.1)
    model: nn.Module
    saved: PreTrainedModel

    def __init__(self, words: Words, settings: ObjectiveSettings, seed: int) -> None:
        self.words, self.settings, self.seed = words, settings, seed
        if settings.hidden_as:
            self.hidden_as = settings.hidden_as.mask, settings.hidden_as.another
        self._drawn: tuple[tuple, np.ndarray] = ((), np.empty(0))

    def inputs(self, text: Segments, batch: Batch) -> dict[str, np.ndarray]:
        """What one batch looks like to the model, as arrays."""
        raise NotImplementedError

    def losses(self, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        """Scalars by name; `loss` is what training minimises."""
        raise NotImplementedError

    def _masked(self, text: Segments, batch: Batch) -> Masked:
        places = text.places(batch.rows)
        return mask_words(
            text.ids[places],
            self._draws(text, batch)[:3, places],
            self.words.predictable,
            self.settings.predicted_share,
            len(self.words),
            *self.hidden_as,
        )

    def _word_losses(
        self, logits: Tensor, inputs: dict[str, Tensor], name: str
    ) -> dict[str, Tensor]:
        """Mean cross-entropy of the predicted words under a name (nats a word).

        On held-out text that of those behind a mask as well, `hidden_words_loss`: of the others
        some stand there to be repeated.
        """
        losses = {name: cross_entropy(logits, inputs["labels"])}
        if not self.model.training:
            hidden = inputs["ids"].flatten()[inputs["positions"]] == MASK_ID
            losses["hidden_words_loss"] = cross_entropy(logits[hidden], inputs["labels"][hidden])
        return losses

    def _draws(self, text: Segments, batch: Batch) -> np.ndarray:
        """Uniform draws for every word of a text, [4, tokens]; one epoch's are kept."""
        key = (text.name, batch.epoch if self.masks_change else 0)
        if self._drawn[0] != key:
            rng = generator("masks", self.seed, *key)
            self._drawn = key, rng.random((4, len(text.ids)), dtype=np.float32)
        return self._drawn[1]


class MaskedWords(Objective):
    """BERT (Devlin et al. 2019): masked words; a segment has the same mask in every epoch.

    The original draws ten masks a segment for forty epochs; here it is one for the three or four
    epochs that the budget allows. Without next-sentence prediction. `head` names the output layer
    and what comes before it.
    """

    masks_change = False
    architecture: ClassVar[type[PreTrainedModel]] = transformers.BertForMaskedLM
    head: ClassVar[str] = "cls"

    def __init__(self, config: PreTrainedConfig, words: Words, settings, seed: int) -> None:
        super().__init__(words, settings, seed)
        self.model = self.saved = self.architecture(config)
        self.saved.get_output_embeddings().bias.data.copy_(words.log_unigram())

    def inputs(self, text: Segments, batch: Batch) -> dict[str, np.ndarray]:
        """`ids`, and `labels` at `positions` of the flattened batch."""
        return _asked(self._masked(text, batch), text.words(batch.rows))

    def losses(self, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        """`loss`: of the masked words."""
        hidden = self.saved.base_model(input_ids=inputs["ids"]).last_hidden_state
        logits = _logits(self.saved.get_submodule(self.head), hidden, inputs)
        return self._word_losses(logits, inputs, "loss")


class MaskedWordsDynamic(MaskedWords):
    """RoBERTa (Liu et al. 2019): masked words, masked anew in every epoch."""

    masks_change = True
    architecture = transformers.RobertaForMaskedLM
    head = "lm_head"


class MaskedWordsAndSentenceOrder(MaskedWords):
    """ALBERT (Lan et al. 2020): masked words, and whether two halves of a text stand in order.

    The original masks up to three words in a row; here words are masked one by one.
    """

    special = 3
    masks_change = True
    architecture = transformers.AlbertForPreTraining
    head = "predictions"

    def inputs(self, text: Segments, batch: Batch) -> dict[str, np.ndarray]:
        """As for BERT, and `types` and whether the halves are `swapped`."""
        masked, words = self._masked(text, batch), text.words(batch.rows)
        rng = generator("sentence order", self.seed, text.name, batch.epoch, batch.step)
        swapped = rng.random(len(words)) < 0.5
        order, first = _halves(text.middles[batch.rows], swapped, words.shape[1])
        predicted = np.take_along_axis(masked.predicted, order, axis=1)
        labels = np.take_along_axis(words, order, axis=1)[predicted]
        ids, types = _framed_pair(np.take_along_axis(masked.ids, order, axis=1), first)
        # A separator stands before the second half: its words are one place further on.
        behind = np.arange(words.shape[1]) >= first[:, None]
        rows, columns = np.nonzero(predicted)
        positions = rows * ids.shape[1] + columns + 1 + behind[rows, columns]
        read = {"ids": ids, "types": types, "swapped": swapped.astype(np.int64)}
        return read | {"positions": positions, "labels": labels}

    def losses(self, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        """`loss`: of the masked words plus that of the order."""
        output = self.saved.albert(input_ids=inputs["ids"], token_type_ids=inputs["types"])
        logits = _logits(self.saved.get_submodule(self.head), output.last_hidden_state, inputs)
        words = self._word_losses(logits, inputs, "words_loss")
        scores = self.saved.sop_classifier(output.pooler_output).float()
        order = cross_entropy(scores, inputs["swapped"])
        right = (scores.argmax(-1) == inputs["swapped"]).float().mean()
        return {
            "loss": words["words_loss"] + self.settings.sentence_order_weight * order,
            **words,
            "sentence_order_loss": order,
            "sentence_order_accuracy": right,
        }


class ReplacedTokens(Objective):
    """ELECTRA (Clark et al. 2020): a small generator fills masks, a discriminator finds which.

    Both share the embedding layer. Of the chosen words 15% stay as they are for the generator, as
    in the authors' released code (google-research/electra, `mask` of pretrain_helpers.py). The
    paper hides all of them: then neither part learns much within the default budget (8.28 to 8.25
    nats a word, 2% of the replaced words found).
    """

    hidden_as = (0.85, 0.0)

    def __init__(self, config: PreTrainedConfig, words: Words, settings, seed: int) -> None:
        super().__init__(words, settings, seed)
        self.saved = transformers.ElectraForPreTraining(config)
        self.generator = transformers.ElectraForMaskedLM(_generator_config(config, settings))
        embeddings = self.saved.electra.embeddings
        self.generator.electra.embeddings = embeddings
        self.generator.generator_lm_head.weight = embeddings.word_embeddings.weight
        self.generator.generator_lm_head.bias.data.copy_(words.log_unigram())
        self.model = nn.ModuleDict({"discriminator": self.saved, "generator": self.generator})

    def inputs(self, text: Segments, batch: Batch) -> dict[str, np.ndarray]:
        """As for BERT, and `draws` for the generator's choices."""
        masked = self._masked(text, batch)
        # The row that would choose other words, if any word became one; else one of its own.
        row = 3 if self.hidden_as[1] else 2
        draws = self._draws(text, batch)[row][text.places(batch.rows)][masked.predicted]
        return _asked(masked, text.words(batch.rows)) | {"draws": draws}

    def losses(self, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        """`loss`: the generator's plus the weighted one of the discriminator."""
        hidden = self.generator.electra(input_ids=inputs["ids"]).last_hidden_state
        logits = _logits(self._head, hidden, inputs)
        words = self._word_losses(logits, inputs, "words_loss")
        guesses = sample_words(logits.detach(), inputs["draws"])
        ids = inputs["ids"].flatten().scatter(0, inputs["positions"], guesses)
        replaced = torch.zeros(len(ids), device=ids.device)
        replaced[inputs["positions"]] = (guesses != inputs["labels"]).float()
        scores = self.saved(input_ids=ids.view_as(inputs["ids"])).logits.float()
        # [CLS] and [SEP], first and last of a row, are never replaced and say nothing.
        scores, replaced = (
            part.view_as(inputs["ids"])[:, 1:-1].flatten() for part in (scores, replaced)
        )
        replaced_loss = binary_cross_entropy_with_logits(scores, replaced)
        hits = ((scores > 0) & (replaced > 0)).sum().float()
        return {
            "loss": words["words_loss"] + self.settings.discriminator_weight * replaced_loss,
            **words,
            "replaced_tokens_loss": replaced_loss,
            "replaced_tokens_found": hits / replaced.sum(),
        }

    def _head(self, hidden: Tensor) -> Tensor:
        return self.generator.generator_lm_head(self.generator.generator_predictions(hidden))


class Denoising(Objective):
    """BART (Lewis et al. 2020): spans become one mask each; the decoder writes the text again.

    The decoder reads the true words before each place; the loss is that of the predictable words in
    spans. The original's is that of all words, and its sentences stand in random order.
    """

    def __init__(self, config: PreTrainedConfig, words: Words, settings, seed: int) -> None:
        super().__init__(words, settings, seed)
        self.model = self.saved = transformers.BartForConditionalGeneration(config)
        self.saved.final_logits_bias[0].copy_(words.log_unigram())

    def inputs(self, text: Segments, batch: Batch) -> dict[str, np.ndarray]:
        """`ids` with spans hidden, `written` for the decoder, and what it must predict where."""
        words = text.words(batch.rows)
        rng = generator("spans", self.seed, text.name, batch.epoch, batch.step)
        asked, longest = self.settings, self.saved.config.max_position_embeddings - self.special
        masked = fill_in_spans(words, asked.predicted_share, asked.span_length, longest, rng)
        # The word at place i is predicted from the words before it, behind [SEP] and [CLS].
        written = np.pad(words[:, :-1], ((0, 0), (2, 0)))
        written[:, 0], written[:, 1] = SEP_ID, CLS_ID
        predicted = masked.predicted & self.words.predictable[words]
        if not predicted.any():  # a loss over nothing is not a number
            predicted = masked.predicted
        rows, columns = np.nonzero(predicted)
        return {
            "ids": _framed(masked.ids),
            "written": written,
            "positions": rows * written.shape[1] + columns + 1,
            "labels": words[predicted],
        }

    def losses(self, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        """`loss`: of the predictable words in spans."""
        read = self.saved.model.encoder(input_ids=inputs["ids"]).last_hidden_state
        written = self.saved.model.decoder(
            input_ids=inputs["written"],
            attention_mask=_causal_mask(inputs["written"]),
            encoder_hidden_states=read,
            use_cache=False,
        ).last_hidden_state
        return {"loss": cross_entropy(_logits(self._head, written, inputs), inputs["labels"])}

    def _head(self, hidden: Tensor) -> Tensor:
        return self.saved.lm_head(hidden) + self.saved.final_logits_bias


OBJECTIVES: dict[str, type[Objective]] = {
    "bert": MaskedWords,
    "roberta": MaskedWordsDynamic,
    "albert": MaskedWordsAndSentenceOrder,
    "electra": ReplacedTokens,
    "bart": Denoising,
}


def new_objective(
    family: str, size: SizeSettings, words: Words, settings: ObjectiveSettings, seed: int
) -> Objective:
    """A family's objective around a freshly initialised model."""
    torch.manual_seed(stable_seed("pretraining", family, seed))
    config = configuration(family, len(words), size)
    return OBJECTIVES[family](config, words, settings, seed)


def initial_deviation(family: str, width: int) -> float:
    """Standard deviation of initial weights: transformers' own .02 for all families but ALBERT.

    .02 was made for d = 768. At d = 128 it makes each layer's output 2.4 times weaker beside what
    it is added to, and averages over a text, which sentence order needs, do not rise above it for a
    whole budget; ALBERT's leaves its layers the gain that they have at d = 768.
    """
    return 0.02 * (768 / width) ** 0.5 if family == "albert" else 0.02


def configuration(family: str, pieces: int, size: SizeSettings) -> PreTrainedConfig:
    """A family's configuration at a size."""
    special = {"pad_token_id": PAD_ID, "bos_token_id": CLS_ID, "eos_token_id": SEP_ID}
    common = {"vocab_size": pieces, "attn_implementation": "sdpa", **special}
    if family == "bart":
        shape = {"layers": size.layers, "attention_heads": size.heads, "ffn_dim": 4 * size.width}
        sides = {f"{s}_{key}": n for s in ("encoder", "decoder") for key, n in shape.items()}
        return AutoConfig.for_model(
            family,
            d_model=size.width,
            max_position_embeddings=size.longest,
            init_std=initial_deviation(family, size.width),
            dropout=size.dropout,
            attention_dropout=size.dropout,
            decoder_start_token_id=SEP_ID,
            forced_eos_token_id=None,
            **sides,
            **common,
        )
    of_family = {
        # RoBERTa's positions start behind the padding's id.
        "roberta": {"max_position_embeddings": size.longest + PAD_ID + 1},
        # The same function as gelu_new, computed at once.
        "albert": {"embedding_size": size.factorised_width, "hidden_act": "gelu_pytorch_tanh"},
        "electra": {"embedding_size": size.width},
    }
    shape = {
        "tie_word_embeddings": size.tied or family == "electra",
        "hidden_size": size.width,
        "num_hidden_layers": size.layers,
        "num_attention_heads": size.heads,
        "intermediate_size": 4 * size.width,
        "max_position_embeddings": size.longest,
        "initializer_range": initial_deviation(family, size.width),
        "hidden_dropout_prob": size.dropout,
        "attention_probs_dropout_prob": size.dropout,
        "classifier_dropout_prob": 0.0,
    }
    return AutoConfig.for_model(family, **(shape | of_family.get(family, {}) | common))


def _generator_config(config: PreTrainedConfig, settings: ObjectiveSettings) -> PreTrainedConfig:
    width = settings.generator_width
    most = max(1, width * config.num_attention_heads // config.hidden_size)
    small = config.to_dict() | {
        "hidden_size": width,
        "num_attention_heads": next(n for n in range(most, 0, -1) if width % n == 0),
        "intermediate_size": 4 * width,
    }
    return type(config)(**small)


def mask_words(
    ids: np.ndarray,
    draws: np.ndarray,
    predictable: np.ndarray,
    share: float,
    pieces: int,
    masked: float,
    other: float,
) -> Masked:
    """Choose words to be predicted and hide them (Devlin et al. 2019, section 3.1).

    Of the chosen words most become the mask, some another word, and the rest stay: a model that has
    to repeat those learns its embeddings long before it learns what fits a mask.

    Args:
        ids: words, [rows, words].
        draws: uniform on [0, 1), [3, rows, words]: which words, what becomes of them, other words.
        predictable: which pieces may be chosen, [pieces] bool.
        share: chance of a predictable word to be chosen.
        pieces: size of the vocabulary.
        masked, other: shares of the chosen words that become the mask, and another word.
    """
    predicted = predictable[ids] & (draws[0] < share)
    if not predicted.any():  # a loss over nothing is not a number
        predicted.flat[draws[0].argmin()] = True
    others = len(SPECIAL) + (draws[2] * (pieces - len(SPECIAL))).astype(ids.dtype)
    hidden = np.where(draws[1] < masked + other, others, ids)
    hidden = np.where(draws[1] < masked, MASK_ID, hidden)
    return Masked(np.where(predicted, hidden, ids), predicted)


def fill_in_spans(
    ids: np.ndarray, share: float, mean_length: float, longest: int, rng: np.random.Generator
) -> Masked:
    """Replace spans by one mask each (Lewis et al. 2020, 'text infilling').

    Span lengths are Poisson; a span of length 0 inserts a mask, unless that makes the text longer
    than `longest`. All rows of a batch have spans of the same lengths at places of their own, so
    that they stay equally long.

    Spans of `mean_length` words cover a share of the words of `ids`, [rows, words].

    Returns:
        `ids` [rows, corrupted words]; `predicted` [rows, words], the words that spans cover.
    """
    rows, words = ids.shape
    lengths = _span_lengths(max(1, round(share * words)), mean_length, longest - words, rng)
    spans, covered = len(lengths), int(lengths.sum())
    units = words - covered + spans
    # The first `spans` of shuffled units are spans; the others are words that stay.
    owner = np.argsort(rng.random((rows, units)), axis=1)
    sizes = np.append(lengths, 1)[np.minimum(owner, spans)]
    is_span = owner < spans
    starts = np.cumsum(sizes, axis=1) - sizes
    padded = np.concatenate([ids, np.full((rows, 1), MASK_ID)], axis=1)  # a last, empty span
    hidden = np.where(is_span, MASK_ID, np.take_along_axis(padded, starts, axis=1))
    predicted = np.repeat(is_span.ravel(), sizes.ravel()).reshape(rows, words)
    return Masked(hidden, predicted)


def _span_lengths(total: int, mean: float, spare: int, rng: np.random.Generator) -> np.ndarray:
    """Poisson lengths, the last one cut, that sum to `total`; at most `spare` more than `total`."""
    lengths: list[int] = []
    while (remaining := total - sum(lengths)) > 0:
        lengths.append(min(remaining, int(rng.poisson(mean))))
    while len(lengths) > total + spare:
        lengths.remove(0)
    return np.array(lengths)


def sample_words(logits: Tensor, draws: Tensor) -> Tensor:
    """One word from each row's softmax, [rows]; integer sums, so that a GPU repeats itself too.

    `logits` are [rows, pieces] float32, `draws` uniform on [0, 1), [rows].
    """
    masses = (logits.softmax(-1) * 2.0**30).int().cumsum(-1, dtype=torch.int32)
    targets = (draws.double() * masses[:, -1]).int()
    return torch.searchsorted(masses, targets[:, None], right=True)[:, 0]


def _causal_mask(ids: Tensor) -> Tensor | None:
    """Which words see which, [1, 1, words, words] bool, on a GPU; None: the decoder makes it.

    It would ask there whether any word is padding, and wait.
    """
    if not on_gpu(ids.device):
        return None
    words = ids.shape[1]
    return torch.ones(words, words, dtype=torch.bool, device=ids.device).tril()[None, None]


def _logits(head, hidden: Tensor, inputs: dict[str, Tensor]) -> Tensor:
    """Scores of all pieces at the predicted positions, [predicted, pieces] float32."""
    return head(hidden.flatten(0, 1)[inputs["positions"]]).float()


def _framed(words: np.ndarray) -> np.ndarray:
    """`[CLS] words [SEP]` in every row."""
    framed = np.pad(words, ((0, 0), (1, 1)), constant_values=CLS_ID)
    framed[:, -1] = SEP_ID
    return framed


def _asked(masked: Masked, words: np.ndarray) -> dict[str, np.ndarray]:
    """The framed batch, positions of what is predicted in it, flattened, and what stands there."""
    ids, (rows, columns) = _framed(masked.ids), np.nonzero(masked.predicted)
    positions = rows * ids.shape[1] + columns + 1
    return {"ids": ids, "positions": positions, "labels": words[masked.predicted]}


def _halves(middles: np.ndarray, swapped: np.ndarray, words: int) -> tuple[np.ndarray, np.ndarray]:
    """Order of the words with the halves of swapped rows exchanged, and the first half's length."""
    middles = np.clip(middles, 1, words - 1)
    shift = np.where(swapped, middles, 0)
    order = (np.arange(words) + shift[:, None]) % words
    return order, np.where(swapped, words - middles, middles)


def _framed_pair(words: np.ndarray, first: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """`[CLS] first [SEP] second [SEP]` in every row, and the token types 0 and 1."""
    rows, count = words.shape
    ids = np.full((rows, count + 3), SEP_ID, dtype=words.dtype)
    ids[:, 0] = CLS_ID
    columns = np.arange(count)
    np.put_along_axis(ids, columns + 1 + (columns >= first[:, None]), words, axis=1)
    types = (np.arange(count + 3) > first[:, None] + 1).astype(np.int64)
    return ids, types
