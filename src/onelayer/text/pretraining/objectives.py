"""The pretraining objectives of the five families, on transformers' own classes.

Output layers see the predicted positions only: with ten thousand words they would otherwise cost
several times the rest of the model. Their bias starts at the logarithm of the words' frequencies,
which embeddings then need not learn.
"""

import numpy as np
import torch
import transformers
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy
from transformers import AutoConfig, PreTrainedConfig, PreTrainedModel

from onelayer.seeds import generator, stable_seed
from onelayer.settings.models import OneTraining, SizeSettings
from onelayer.text.pretraining.text import CLS_ID, MASK_ID, PAD_ID, SEP_ID, SPECIAL, Batch, Segments

Arrays = dict[str, np.ndarray]
Tensors = dict[str, Tensor]

PREDICTED_SHARE = 0.3  # of a text's predictable words; for spans of all words
SPAN_LENGTH = 3.0  # mean length of BART's spans (words)
# Of ALBERT's sentence order beside its words. The original has 1, with which nothing is learnt of
# the order within 600,000 tokens; with 10 words are learnt late.
SENTENCE_ORDER_WEIGHT = 3.0
DISCRIMINATOR_WEIGHT = 50.0  # of ELECTRA's discriminator beside its generator


def mask_words(
    ids: np.ndarray, draws: np.ndarray, predictable: np.ndarray, share: float, masked, other
) -> tuple[np.ndarray, np.ndarray]:
    """What a model reads, and which words it must predict (Devlin et al. 2019, section 3.1).

    Chosen is a `share` of the `predictable` pieces' words; of them `masked` become the mask,
    `other` another word. `ids` are [rows, words]; `draws`, uniform on [0, 1), [3, rows, words], say
    which words, what becomes of them, and which other words.
    """
    predicted = predictable[ids] & (draws[0] < share)
    if not predicted.any():  # a loss over nothing is not a number
        predicted.flat[draws[0].argmin()] = True
    words = len(predictable) - len(SPECIAL)
    others = len(SPECIAL) + (draws[2] * words).astype(ids.dtype)
    hidden = np.where(draws[1] < masked + other, others, ids)
    hidden = np.where(draws[1] < masked, MASK_ID, hidden)
    return np.where(predicted, hidden, ids), predicted


def fill_in_spans(
    ids: np.ndarray, share: float, mean_length: float, longest: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Replace spans by one mask each (Lewis et al. 2020, 'text infilling').

    Spans of Poisson `mean_length` cover a `share` of `ids`; one of length 0 inserts a mask, unless
    the text grows longer than `longest`. All rows have spans of the same lengths at places of their
    own. Returns what is read, [rows, corrupted words], and which words spans cover, [rows, words].
    """
    rows, words = ids.shape
    covered = max(1, round(share * words))
    drawn: list[int] = []
    while (remaining := covered - sum(drawn)) > 0:
        drawn.append(min(remaining, int(rng.poisson(mean_length))))
    while len(drawn) > covered + longest - words:
        drawn.remove(0)
    spans = len(drawn)
    # The first `spans` of shuffled units are spans; the others are words that stay.
    owner = np.argsort(rng.random((rows, words - covered + spans)), axis=1)
    sizes = np.append(drawn, 1)[np.minimum(owner, spans)]
    is_span = owner < spans
    starts = np.cumsum(sizes, axis=1) - sizes
    padded = np.concatenate([ids, np.full((rows, 1), MASK_ID)], axis=1)  # a last, empty span
    read = np.where(is_span, MASK_ID, np.take_along_axis(padded, starts, axis=1))
    return read, np.repeat(is_span.ravel(), sizes.ravel()).reshape(rows, words)


def _framed(words: np.ndarray) -> np.ndarray:
    return np.pad(words, ((0, 0), (1, 1)), constant_values=((0, 0), (CLS_ID, SEP_ID)))


def _batch(read: np.ndarray, predicted: np.ndarray, words: np.ndarray) -> Arrays:
    """The framed batch, flattened positions of what is predicted in it, and what stands there."""
    positions = np.flatnonzero(np.pad(predicted, ((0, 0), (1, 1))))
    return {"ids": _framed(read), "positions": positions, "labels": words[predicted]}


class Objective:
    """BERT (Devlin et al. 2019): masked words; a segment has the same mask in every epoch.

    The original draws ten masks a segment for forty epochs; here it is one for the three or four
    epochs that the budget allows. Without next-sentence prediction. Other families change parts.
    """

    special = 2  # pieces added to each segment
    masks_change = False  # in every epoch (dynamic masking)
    # Shares of the chosen words that become the mask, and another word; the rest stay.
    hidden_as = (0.8, 0.1)
    architecture: type[PreTrainedModel] = transformers.BertForMaskedLM
    head = "cls"  # the output layer and what comes before it
    model: nn.Module  # everything that is trained
    saved: PreTrainedModel  # what is published of it

    def __init__(self, config, predictable, occurrences, size: SizeSettings, seed: int) -> None:
        """Of each piece, [pieces], whether it may be predicted, and how often it was read."""
        self.predictable, self.size, self.seed = predictable, size, seed
        counts = occurrences * predictable + 1.0
        self.log_unigram = torch.from_numpy(np.log(counts / counts.sum())).float()
        self._drawn: tuple = ((), None)
        self.model = self.saved = self.architecture(config)
        output = self.saved.get_output_embeddings()
        if getattr(output, "bias", None) is not None:
            output.bias.data.copy_(self.log_unigram)

    def inputs(self, text: Segments, batch: Batch) -> Arrays:
        """`ids`, and `labels` at `positions` of the flattened batch."""
        return _batch(*self._masked(text, batch)[:3])

    def losses(self, inputs: Tensors) -> Tensors:
        """`loss`, which training minimises; on held-out text also `below_unigram`."""
        hidden = self.saved.base_model(input_ids=inputs["ids"]).last_hidden_state
        return self._predict(self.saved.get_submodule(self.head), hidden, inputs)[0]

    def _generator(self, of: str, text: Segments, *when: int) -> np.random.Generator:
        # On held-out text the same in each training.
        return generator(of, self.seed if text.name == "training" else 0, text.name, *when)

    def _masked(self, text: Segments, batch: Batch) -> tuple[np.ndarray, ...]:
        """What is read, what is predicted, the words, and draws that are left: [rows, words].

        A text's draws, uniform, [3, tokens], are made once an epoch.
        """
        key = (text.name, batch.epoch if self.masks_change else 0)
        if self._drawn[0] != key:
            rng = self._generator("masks", text, key[1])
            self._drawn = key, rng.random((3, len(text.ids)), dtype=np.float32)
        places = text.places(batch.rows)
        words, draws = text.ids[places], self._drawn[1][:, places]
        masked = mask_words(words, draws, self.predictable, PREDICTED_SHARE, *self.hidden_as)
        return *masked, words, draws[2]

    def _predict(self, head, hidden: Tensor, inputs: Tensors) -> tuple[Tensors, Tensor]:
        """Losses, and scores of all pieces at the predicted positions, [predicted, pieces].

        `loss` is the mean cross-entropy of the predicted words (nats a word), `below_unigram` how
        far it lies below that of the words' frequencies, of words behind a mask: of the others some
        stand there to be repeated.
        """
        logits = head(hidden.flatten(0, 1)[inputs["positions"]]).float()
        losses = {"loss": cross_entropy(logits, inputs["labels"])}
        if not self.model.training:
            masked = slice(None)
            if "written" not in inputs:
                masked = inputs["ids"].flatten()[inputs["positions"]] == MASK_ID
            surprise = -self.log_unigram.to(logits.device)[inputs["labels"]]
            below = surprise - cross_entropy(logits, inputs["labels"], reduction="none")
            losses["below_unigram"] = below[masked].mean()
        return losses, logits


class MaskedWordsDynamic(Objective):
    """RoBERTa (Liu et al. 2019): masked words, masked anew in every epoch."""

    masks_change = True
    architecture = transformers.RobertaForMaskedLM
    head = "lm_head"


class MaskedWordsAndSentenceOrder(Objective):
    """ALBERT (Lan et al. 2020): masked words, and whether two halves of a text stand in order.

    The original masks up to three words in a row; here words are masked one by one.
    """

    special = 3
    masks_change = True
    architecture = transformers.AlbertForPreTraining

    def inputs(self, text: Segments, batch: Batch) -> Arrays:
        """As for BERT, in `[CLS] first [SEP] second [SEP]`; `types`, and which are `swapped`."""
        *parts, _ = self._masked(text, batch)
        rows, words = parts[0].shape
        rng = self._generator("sentence order", text, batch.epoch, batch.step)
        swapped = rng.random(rows) < 0.5
        first = np.clip(text.middles[batch.rows], 1, words - 1)
        order = (np.arange(words) + np.where(swapped, first, 0)[:, None]) % words
        first = np.where(swapped, words - first, first)[:, None]
        read, predicted, true = (np.take_along_axis(part, order, axis=1) for part in parts)
        # A separator stands before the second half: its words are one place further on.
        columns = np.arange(words) + 1 + (np.arange(words) >= first)
        ids = np.full((rows, words + 3), SEP_ID, dtype=read.dtype)
        ids[:, 0] = CLS_ID
        np.put_along_axis(ids, columns, read, axis=1)
        places = np.arange(ids.size).reshape(ids.shape)
        positions = np.take_along_axis(places, columns, axis=1)[predicted]
        types = (np.arange(words + 3) > first + 1).astype(np.int64)
        arrays = {"ids": ids, "types": types, "swapped": swapped.astype(np.int64)}
        return arrays | {"positions": positions, "labels": true[predicted]}

    def losses(self, inputs: Tensors) -> Tensors:
        """`loss`: of the masked words plus that of the order."""
        output = self.saved.albert(input_ids=inputs["ids"], token_type_ids=inputs["types"])
        losses, _ = self._predict(self.saved.predictions, output.last_hidden_state, inputs)
        scores = self.saved.sop_classifier(output.pooler_output).float()
        order = SENTENCE_ORDER_WEIGHT * cross_entropy(scores, inputs["swapped"])
        return losses | {"loss": losses["loss"] + order}


class ReplacedTokens(Objective):
    """ELECTRA (Clark et al. 2020): a small generator fills masks, a discriminator finds which.

    Both share the embedding layer; the generator's heads are as wide as the discriminator's, or
    wider to divide its width. Of the chosen words 15% stay as they are for the generator, as
    in the authors' released code (google-research/electra, `mask` of pretrain_helpers.py). The
    paper hides all of them: then neither part learns much within a million tokens (8.28 to 8.25
    nats a word, 2% of the replaced words found).
    """

    masks_change = True
    hidden_as = (0.85, 0.0)
    architecture = transformers.ElectraForPreTraining

    def __init__(self, config: PreTrainedConfig, *words) -> None:
        super().__init__(config, *words)
        width = self.size.generator_width
        most = max(1, width * config.num_attention_heads // config.hidden_size)
        heads = next(n for n in range(most, 0, -1) if width % n == 0)
        small = {"hidden_size": width, "num_attention_heads": heads, "intermediate_size": 4 * width}
        small = type(config)(**config.to_dict() | small)
        self.generator = transformers.ElectraForMaskedLM(small)
        embeddings = self.saved.electra.embeddings
        self.generator.electra.embeddings = embeddings
        self.generator.generator_lm_head.weight = embeddings.word_embeddings.weight
        self.generator.generator_lm_head.bias.data.copy_(self.log_unigram)
        self.model = nn.ModuleDict({"discriminator": self.saved, "generator": self.generator})

    def inputs(self, text: Segments, batch: Batch) -> Arrays:
        """As for BERT, and `draws` for the generator's choices."""
        *masked, draws = self._masked(text, batch)  # which ELECTRA needs for no other words
        return _batch(*masked) | {"draws": draws[masked[1]]}

    def losses(self, inputs: Tensors) -> Tensors:
        """`loss`: the generator's plus the weighted one of the discriminator."""
        hidden = self.generator.electra(input_ids=inputs["ids"]).last_hidden_state
        head = nn.Sequential(self.generator.generator_predictions, self.generator.generator_lm_head)
        losses, logits = self._predict(head, hidden, inputs)
        guesses = sample_words(logits.detach(), inputs["draws"])
        ids = inputs["ids"].flatten().scatter(0, inputs["positions"], guesses)
        replaced = torch.zeros(len(ids), device=ids.device)
        replaced[inputs["positions"]] = (guesses != inputs["labels"]).float()
        scores = self.saved(input_ids=ids.view_as(inputs["ids"])).logits.float()
        # [CLS] and [SEP], first and last of a row, are never replaced and say nothing.
        rows = len(inputs["ids"])
        scores, replaced = (p.view(rows, -1)[:, 1:-1].flatten() for p in (scores, replaced))
        found = DISCRIMINATOR_WEIGHT * binary_cross_entropy_with_logits(scores, replaced)
        return losses | {"loss": losses["loss"] + found}


class Denoising(Objective):
    """BART (Lewis et al. 2020): spans become one mask each; the decoder writes the text again.

    The decoder reads the true words before each place; the loss is that of the predictable words in
    spans. The original's is that of all words, and its sentences stand in random order.
    """

    architecture = transformers.BartForConditionalGeneration

    def __init__(self, config: PreTrainedConfig, *words) -> None:
        super().__init__(config, *words)
        self.saved.final_logits_bias[0].copy_(self.log_unigram)

    def inputs(self, text: Segments, batch: Batch) -> Arrays:
        """`ids` with spans hidden, `written` for the decoder, and what it must predict where."""
        words = text.ids[text.places(batch.rows)]
        rng = self._generator("spans", text, batch.epoch, batch.step)
        longest = self.saved.config.max_position_embeddings - self.special
        read, covered = fill_in_spans(words, PREDICTED_SHARE, SPAN_LENGTH, longest, rng)
        predicted = covered & self.predictable[words]
        if not predicted.any():  # a loss over nothing is not a number
            predicted = covered
        # The word at place i is predicted from the words before it, behind [SEP] and [CLS].
        written = np.pad(words[:, :-1], ((0, 0), (2, 0)))
        written[:, 0], written[:, 1] = SEP_ID, CLS_ID
        positions = np.flatnonzero(np.pad(predicted, ((0, 0), (1, 0))))
        wanted = {"positions": positions, "labels": words[predicted]}
        return {"ids": _framed(read), "written": written} | wanted

    def losses(self, inputs: Tensors) -> Tensors:
        """`loss`: of the predictable words in spans."""
        given = {"input_ids": inputs["ids"], "decoder_input_ids": inputs["written"]}
        written = self.saved.model(**given, use_cache=False).last_hidden_state
        head, bias = self.saved.lm_head, self.saved.final_logits_bias
        return self._predict(lambda states: head(states) + bias, written, inputs)[0]


OBJECTIVES = {
    "bert": Objective,
    "roberta": MaskedWordsDynamic,
    "albert": MaskedWordsAndSentenceOrder,
    "electra": ReplacedTokens,
    "bart": Denoising,
}


def new_objective(settings: OneTraining, predictable, occurrences) -> Objective:
    """A family's objective around a freshly initialised model; as `Objective` has the words."""
    family, size, seed = settings.family, settings.size, settings.seed
    torch.manual_seed(stable_seed("pretraining", family, seed))
    config = _configuration(family, len(predictable), size)
    return OBJECTIVES[family](config, predictable, occurrences, size, seed)


def _configuration(family: str, pieces: int, size: SizeSettings) -> PreTrainedConfig:
    """A family's configuration at a size.

    Initial weights have transformers' own deviation of .02, made for d = 768, but ALBERT's. At
    d = 128 it makes each layer's output 2.4 times weaker beside what it is added to; averages over
    a text, which sentence order needs, do not rise above it. ALBERT's leaves the gain of d = 768.
    """
    shape = {"vocab_size": pieces, "max_position_embeddings": size.longest}
    shape |= {"pad_token_id": PAD_ID, "bos_token_id": CLS_ID, "eos_token_id": SEP_ID}
    shape["attn_implementation"] = "sdpa"
    if family == "bart":
        shape |= {"d_model": size.width, "init_std": 0.02, "dropout": 0.0, "attention_dropout": 0.0}
        shape |= {"decoder_start_token_id": SEP_ID, "forced_eos_token_id": None}
        for side in ("encoder", "decoder"):
            shape |= {f"{side}_layers": size.layers, f"{side}_ffn_dim": 4 * size.width}
            shape |= {f"{side}_attention_heads": size.heads}
        return AutoConfig.for_model(family, **shape)
    shape |= {"hidden_size": size.width, "intermediate_size": 4 * size.width}
    shape |= {"num_hidden_layers": size.layers, "num_attention_heads": size.heads}
    shape |= {"initializer_range": 0.02, "tie_word_embeddings": True}
    dropouts = "hidden_dropout_prob", "attention_probs_dropout_prob", "classifier_dropout_prob"
    shape |= dict.fromkeys(dropouts, 0.0)
    if family == "roberta":  # positions start behind the padding's id
        shape["max_position_embeddings"] += PAD_ID + 1
    if family == "electra":
        shape["embedding_size"] = size.width
    if family == "albert":
        shape["embedding_size"] = size.factorised_width
        shape["hidden_act"] = "gelu_pytorch_tanh"  # the same function as gelu_new, at once
        shape["initializer_range"] *= (768 / size.width) ** 0.5
    return AutoConfig.for_model(family, **shape)


def sample_words(logits: Tensor, draws: Tensor) -> Tensor:
    """One word from each row's softmax, [rows]; integer sums, so that a GPU repeats itself too.

    `logits` are [rows, pieces] float32, `draws` uniform on [0, 1), [rows].
    """
    masses = (logits.softmax(-1) * 2.0**30).int().cumsum(-1, dtype=torch.int32)
    targets = (draws.double() * masses[:, -1]).int()
    words = torch.searchsorted(masses, targets[:, None], right=True)[:, 0]
    return words.clamp(max=logits.shape[1] - 1)  # of logits that are no numbers, too
