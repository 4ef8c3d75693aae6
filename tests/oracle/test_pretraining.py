"""Each family's objective against the slow and obvious one.

What it reads and predicts is compared with the text word by word; what that costs with
transformers' own loss, computed from logits in every place.
"""

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from onelayer.text.pretraining.objectives import sample_words
from onelayer.text.pretraining.text import CLS_ID, MASK_ID, SEP_ID, plan_batches
from onelayer.text.pretraining.training import train
from tests.tiny_text import task

IGNORED = -100  # what transformers calls a place where nothing is predicted


@dataclass(frozen=True)
class Reading:
    """One batch: the words of its segments, and what the objective makes of them.

    Attributes:
        texts: words of each row, all rows equally long.
        middles: where the second half of each text starts.
        inputs: the objective's arrays.
        losses: the objective's losses.
    """

    texts: list[list[int]]
    middles: list[int]
    inputs: dict[str, Tensor]
    losses: dict[str, Tensor]

    def labels(self, predicted_in: str = "ids") -> Tensor:
        """What is predicted, laid out as that array is, and `IGNORED` elsewhere."""
        shape = self.inputs[predicted_in].shape
        labels = torch.full(shape, IGNORED).flatten()
        labels[self.inputs["positions"]] = self.inputs["labels"]
        assert (labels != IGNORED).sum() == len(self.inputs["labels"])  # none twice
        return labels.view(shape)


class Pretraining:
    """A family's objective off its initial weights, and the batches that it reads."""

    def __init__(self, family: str, folder: Path) -> None:
        _, self.objective, self.text, _ = task(folder, family)
        self.predictable = self.objective.predictable
        torch.manual_seed(0)
        with torch.no_grad():
            for parameter in self.objective.model.parameters():
                parameter.add_(0.2 * torch.randn_like(parameter))
        self.objective.model.eval()
        self.model = self.objective.saved

    def readings(self) -> Iterator[Reading]:
        """Every batch of a short training."""
        segments = self.text
        for batch in plan_batches(segments, 2000, 256, self.objective.special, 0):
            shortest = min(segments.lengths[row] for row in batch.rows)
            starts = [segments.starts[row] for row in batch.rows]
            texts = [segments.ids[start : start + shortest].tolist() for start in starts]
            arrays = self.objective.inputs(self.text, batch)
            inputs = {name: torch.from_numpy(array) for name, array in arrays.items()}
            losses = self.objective.losses(inputs)
            yield Reading(texts, segments.middles[batch.rows].tolist(), inputs, losses)

    def assert_only_predicted_words_change(
        self, framed: list[int], read: Tensor, labels: Tensor
    ) -> None:
        """Place by place: a word is read as it stands, or it is predictable and predicted."""
        for word, seen, label in zip(framed, read.tolist(), labels.tolist(), strict=True):
            if label == IGNORED:
                assert seen == word
            else:
                assert label == word
                assert self.predictable[word]


@pytest.fixture
def bert(tmp_path) -> Pretraining:
    return Pretraining("bert", tmp_path)


@pytest.fixture
def roberta(tmp_path) -> Pretraining:
    return Pretraining("roberta", tmp_path)


@pytest.fixture
def albert(tmp_path) -> Pretraining:
    return Pretraining("albert", tmp_path)


@pytest.fixture
def electra(tmp_path) -> Pretraining:
    return Pretraining("electra", tmp_path)


@pytest.fixture
def bart(tmp_path) -> Pretraining:
    return Pretraining("bart", tmp_path)


def assert_same_cost(ours: Tensor, theirs: Tensor) -> None:
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-6)


def test_bert_predicts_masked_words_at_the_cost_that_transformers_says(bert: Pretraining) -> None:
    for reading in bert.readings():
        ids, labels = reading.inputs["ids"], reading.labels()
        for text, *row in zip(reading.texts, ids, labels, strict=True):
            bert.assert_only_predicted_words_change([CLS_ID, *text, SEP_ID], *row)
        expected = bert.model(input_ids=ids, labels=labels).loss
        assert_same_cost(reading.losses["loss"], expected)
        behind_masks = labels.masked_fill(ids != MASK_ID, IGNORED)
        expected = bert.model(input_ids=ids, labels=behind_masks).loss
        surprise = -bert.objective.log_unigram[behind_masks[behind_masks != IGNORED]].mean()
        assert_same_cost(reading.losses["below_unigram"], surprise - expected)


def test_roberta_predicts_masked_words_at_the_cost_that_transformers_says(
    roberta: Pretraining,
) -> None:
    for reading in roberta.readings():
        ids, labels = reading.inputs["ids"], reading.labels()
        for text, *row in zip(reading.texts, ids, labels, strict=True):
            roberta.assert_only_predicted_words_change([CLS_ID, *text, SEP_ID], *row)
        expected = roberta.model(input_ids=ids, labels=labels).loss
        assert_same_cost(reading.losses["loss"], expected)


def test_albert_also_tells_exchanged_halves_at_the_cost_that_transformers_says(
    albert: Pretraining,
) -> None:
    for reading in albert.readings():
        ids, types, swapped = (reading.inputs[name] for name in ("ids", "types", "swapped"))
        labels = reading.labels()
        for row, text in enumerate(reading.texts):
            middle = min(max(reading.middles[row], 1), len(text) - 1)
            first, second = text[:middle], text[middle:]
            if swapped[row]:
                first, second = second, first
            framed = [CLS_ID, *first, SEP_ID, *second, SEP_ID]
            albert.assert_only_predicted_words_change(framed, ids[row], labels[row])
            assert types[row].tolist() == [0] * (len(first) + 2) + [1] * (len(second) + 1)
        output = albert.model(
            input_ids=ids, token_type_ids=types, labels=labels, sentence_order_label=swapped
        )
        order = cross_entropy(output.sop_logits, swapped)
        assert_same_cost(reading.losses["loss"], output.loss + 2 * order)


def test_electra_finds_what_its_generator_replaced_at_the_cost_that_transformers_says(
    electra: Pretraining,
) -> None:
    for reading in electra.readings():
        ids, labels = reading.inputs["ids"], reading.labels()
        for text, *row in zip(reading.texts, ids, labels, strict=True):
            electra.assert_only_predicted_words_change([CLS_ID, *text, SEP_ID], *row)
        predicted = labels != IGNORED
        masked = ids == MASK_ID
        assert (masked | (ids == labels))[predicted].all()  # never another word
        generated = electra.objective.generator(input_ids=ids, labels=labels)
        filled = ids.clone()
        filled[predicted] = sample_words(generated.logits[predicted], _draws_by_place(reading))
        replaced = predicted & (filled != labels)
        words_only = (ids != CLS_ID) & (ids != SEP_ID)
        scores = electra.model(input_ids=filled).logits
        found = binary_cross_entropy_with_logits(scores[words_only], replaced[words_only].float())
        assert_same_cost(reading.losses["loss"], generated.loss + 50 * found)


def _draws_by_place(reading: Reading) -> Tensor:
    """The generator's draws in the order of their places in the batch."""
    return reading.inputs["draws"][reading.inputs["positions"].argsort()]


def test_bart_writes_the_text_again_at_the_cost_that_transformers_says(bart: Pretraining) -> None:
    for reading in bart.readings():
        ids, written = reading.inputs["ids"], reading.inputs["written"]
        labels = reading.labels("written")
        for row, text in enumerate(reading.texts):
            assert written[row].tolist() == [SEP_ID, CLS_ID, *text[:-1]]
            to_write = labels[row, 1:].tolist()  # each word is written after those before it
            for word, label in zip(text, to_write, strict=True):
                assert label == IGNORED or (label == word and bart.predictable[word])
            start, *read, end = ids[row].tolist()
            assert (start, end) == (CLS_ID, SEP_ID)
            given = (w for w, label in zip(text, to_write, strict=True) if label == IGNORED)
            kept = [word for word in read if word != MASK_ID]
            assert all(word in given for word in kept)  # in this order: `in` uses `given` up
        assert (labels[:, 0] == IGNORED).all()
        expected = bart.model(input_ids=ids, decoder_input_ids=written, labels=labels).loss
        assert_same_cost(reading.losses["loss"], expected)
        surprise = -bart.objective.log_unigram[reading.inputs["labels"]].mean()
        assert_same_cost(reading.losses["below_unigram"], surprise - expected)


def test_words_are_sampled_from_the_softmax() -> None:
    logits = torch.tensor([[0.0, 1.0, -2.0, 3.0]]).repeat(40_000, 1)
    draws = torch.arange(40_000).div(40_000)
    shares = torch.bincount(sample_words(logits, draws), minlength=4) / 40_000
    assert torch.allclose(shares, logits[0].softmax(-1), atol=1e-3)
    impossible = torch.tensor([[-torch.inf, 0.0, -torch.inf]])
    assert sample_words(impossible, torch.zeros(1)).tolist() == [1]
    diverged = torch.full((1, 4), torch.nan)  # is refused later, and must not crash before
    assert sample_words(diverged, torch.zeros(1)).tolist() == [3]


@pytest.mark.parametrize("family", ["bert", "electra"])
def test_a_training_is_adamw_on_the_mean_loss_of_each_batch(family: str, tmp_path: Path) -> None:
    settings, objective, text, held_out = task(tmp_path, family, tokens=2000)
    slow = copy.deepcopy(objective)
    train(objective, text, held_out, settings)
    slow.model.train()
    parameters, (beta_1, beta_2) = list(slow.model.parameters()), (0.9, 0.98)
    moments = [[torch.zeros_like(p), torch.zeros_like(p)] for p in parameters]
    plan = plan_batches(text, settings.tokens, settings.batch_tokens, slow.special, 0)
    for step, batch in enumerate(plan, 1):
        inputs = {name: torch.from_numpy(a) for name, a in slow.inputs(text, batch).items()}
        loss = slow.losses(inputs)["loss"]
        gradients = torch.autograd.grad(loss, parameters, allow_unused=True)
        norm = sum(g.square().sum() for g in gradients if g is not None).sqrt()
        warmup = 0.05 * settings.tokens
        rising = (batch.before + 1) / (warmup + 1)
        falling = (settings.tokens - batch.before) / (settings.tokens - warmup)
        rate = settings.learning_rate * (rising if batch.before < warmup else falling)
        for p, g, (m, v) in zip(parameters, gradients, moments, strict=True):
            if g is None:
                continue
            g = g * min(1, 1 / (norm + 1e-6))
            m.mul_(beta_1).add_((1 - beta_1) * g)
            v.mul_(beta_2).add_((1 - beta_2) * g**2)
            m_hat, v_hat = m / (1 - beta_1**step), v / (1 - beta_2**step)
            decay = 0.01 if p.ndim > 1 else 0
            p.data -= rate * (decay * p.data + m_hat / (v_hat.sqrt() + 1e-8))
    for fast, p in zip(objective.model.parameters(), parameters, strict=True):
        torch.testing.assert_close(fast, p, rtol=1e-3, atol=1e-4)
