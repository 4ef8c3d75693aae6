"""The objectives' losses against transformers' own, computed from whole sequences of logits."""

import numpy as np
import pytest
import torch
from torch.nn.functional import binary_cross_entropy_with_logits

from onelayer.pretraining.objectives import Objective, new_objective, sample_words
from onelayer.pretraining.text import plan_batches
from onelayer.pretraining.vocabulary import CLS_ID, MASK_ID, SEP_ID
from tests.tiny_text import task

IGNORED = -100


def batch_of(family: str) -> tuple[Objective, dict[str, torch.Tensor]]:
    """An objective off its initial weights, and one batch for it."""
    settings, words, training, _ = task(family)
    objective = new_objective(family, settings.size, words, settings.objective, 0)
    with torch.no_grad():
        for parameter in objective.model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    batch = plan_batches(training.segments, 300, 256, objective.special, 0)[0]
    arrays = objective.inputs(training, batch)
    return objective.model.eval() and objective, {
        name: torch.from_numpy(array) for name, array in arrays.items()
    }


def everywhere(inputs: dict[str, torch.Tensor], shape: torch.Size) -> torch.Tensor:
    """Labels in every place, ignored but where something is predicted."""
    labels = torch.full(shape, IGNORED).flatten()
    labels[inputs["positions"]] = inputs["labels"]
    return labels.view(shape)


@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_masked_words_cost_what_transformers_says(family) -> None:
    objective, inputs = batch_of(family)
    labels = everywhere(inputs, inputs["ids"].shape)
    expected = objective.saved(input_ids=inputs["ids"], labels=labels).loss
    assert torch.allclose(objective.losses(inputs)["loss"], expected, rtol=1e-5)


def test_masked_words_and_sentence_order_cost_what_transformers_says() -> None:
    objective, inputs = batch_of("albert")
    expected = objective.saved(
        input_ids=inputs["ids"],
        token_type_ids=inputs["types"],
        labels=everywhere(inputs, inputs["ids"].shape),
        sentence_order_label=inputs["swapped"],
    ).loss
    losses = objective.losses(inputs)
    words, order = losses["words_loss"], losses["sentence_order_loss"]
    assert torch.allclose(words + order, expected, rtol=1e-5)
    assert torch.allclose(losses["loss"], words + 3 * order, rtol=1e-5)


def test_replaced_tokens_cost_what_transformers_says() -> None:
    objective, inputs = batch_of("electra")
    labels = everywhere(inputs, inputs["ids"].shape)
    generated = objective.generator(input_ids=inputs["ids"], labels=labels)
    ids = inputs["ids"].clone()
    chosen = generated.logits.flatten(0, 1)[inputs["positions"]]
    ids.view(-1)[inputs["positions"]] = sample_words(chosen, inputs["draws"])
    replaced = (ids != labels) & (labels != IGNORED)
    words_only = (inputs["ids"] != CLS_ID) & (inputs["ids"] != SEP_ID)
    scores = objective.saved(input_ids=ids).logits
    found = binary_cross_entropy_with_logits(scores[words_only], replaced[words_only].float())
    losses = objective.losses(inputs)
    assert torch.allclose(losses["words_loss"], generated.loss, rtol=1e-5)
    assert torch.allclose(losses["replaced_tokens_loss"], found, rtol=1e-5)
    assert torch.allclose(losses["loss"], generated.loss + 50 * found, rtol=1e-5)


def test_denoising_costs_what_transformers_says() -> None:
    objective, inputs = batch_of("bart")
    expected = objective.saved(
        input_ids=inputs["ids"],
        decoder_input_ids=inputs["written"],
        labels=everywhere(inputs, inputs["written"].shape),
    ).loss
    assert torch.allclose(objective.losses(inputs)["loss"], expected, rtol=1e-5)


@pytest.mark.parametrize("family", ["bert", "roberta", "albert", "electra", "bart"])
def test_what_is_predicted_stood_in_the_text_and_is_hidden(family) -> None:
    """Against the segments themselves, word by word."""
    settings, words, training, _ = task(family)
    objective = new_objective(family, settings.size, words, settings.objective, 0)
    for batch in plan_batches(training.segments, 2000, 256, objective.special, 0):
        inputs = objective.inputs(training, batch)
        own = [
            training.segments.ids[start : start + len(row)].tolist()
            for row, start in zip(
                training.segments.places(batch.rows),
                training.segments.starts[batch.rows],
                strict=True,
            )
        ]
        read = inputs["ids"]
        assert (read[:, 0] == CLS_ID).all() and (read[:, -1] == SEP_ID).all()
        predictable = words.predictable[inputs["labels"]]
        assert predictable.all()
        written = inputs.get("written", read)
        rows = inputs["positions"] // written.shape[1]
        for row, text in enumerate(own):
            labels = inputs["labels"][rows == row].tolist()
            assert all(labels.count(word) <= text.count(word) for word in labels)
            kept = [word for word in read[row].tolist() if word not in (CLS_ID, SEP_ID, MASK_ID)]
            if family in ("electra", "bart"):  # nothing is replaced by another word
                assert all(kept.count(word) <= text.count(word) for word in kept)
        if family == "albert":
            for row, text in enumerate(own):
                middle = np.clip(training.segments.middles[batch.rows[row]], 1, len(text) - 1)
                first = len(text) - middle if inputs["swapped"][row] else middle
                assert read[row, first + 1] == SEP_ID
                assert inputs["types"][row].sum() == len(text) - first + 1
        if family == "bart":
            text = np.array(own)
            assert (inputs["written"][:, 2:] == text[:, :-1]).all()
            columns = inputs["positions"] % written.shape[1] - 1
            assert (text[rows, columns] == inputs["labels"]).all()


def test_words_are_sampled_from_the_softmax() -> None:
    logits = torch.tensor([[0.0, 1.0, -2.0, 3.0]]).repeat(40_000, 1)
    draws = torch.arange(40_000).div(40_000)
    shares = torch.bincount(sample_words(logits, draws), minlength=4) / 40_000
    assert torch.allclose(shares, logits[0].softmax(-1), atol=1e-3)
