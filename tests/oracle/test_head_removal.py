"""Heads removed at once beside a plain loop that removes them with hooks, text after text."""

import contextlib
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from onelayer.models.head_removal import HeadSwitch
from onelayer.models.tokenizer import load_tokenizer
from onelayer.models.word_heads import WordModel, load_word_model
from onelayer.papers.topic_structure.probe.head_removal import (
    Condition,
    Heads,
    Questioner,
    Questions,
    conditions_of,
    read_without,
)
from onelayer.settings.topic_structure import HeadRemovalSettings
from tests.tiny_models import FAMILIES, WORDS, save_tiny

HEADS, WIDTH = 2, 8  # of a tiny model's layers, and of a head
LAYERS = {
    "bert": ("bert.encoder.layer.{}.attention.", "self.query", "output.dense"),
    "roberta": ("roberta.encoder.layer.{}.attention.", "self.query", "output.dense"),
    "electra": ("electra.encoder.layer.{}.attention.", "self.query", "output.dense"),
    # one module, called once for each layer
    "albert": ("albert.encoder.albert_layer_groups.0.albert_layers.0.attention.", "query", "dense"),
    "bart": ("model.encoder.layers.{}.self_attn.", "q_proj", "out_proj"),
}
TEXT = "the frog, the toad! bach mozart opera. pond the frog, opera."


@contextlib.contextmanager
def removed(model: torch.nn.Module, family: str, condition: Condition):
    """Zeroed inputs of the output projection; for uniform attention, zeroed queries."""
    prefix, query, output = LAYERS[family]
    with contextlib.ExitStack() as stack:
        for layer in range(2):
            which = query if condition.removal == "uniform" else output
            module = model.get_submodule(prefix.format(layer) + which)
            calls = iter(range(100))

            def zeroed(values: torch.Tensor, number: int, layer: int = layer) -> torch.Tensor:
                values = values.clone()
                for head in range(HEADS):
                    if condition.heads[layer, head] and (family != "albert" or number == layer):
                        values[..., head * WIDTH : (head + 1) * WIDTH] = 0
                return values

            if condition.removal == "uniform":
                hook = module.register_forward_hook(
                    lambda _, __, out, calls=calls, zeroed=zeroed: zeroed(out, next(calls))
                )
            else:
                hook = module.register_forward_pre_hook(
                    lambda _, args, calls=calls, zeroed=zeroed: (zeroed(args[0], next(calls)),)
                )
            stack.callback(hook.remove)
        yield


def loss_of_each_word(
    loaded: WordModel, family: str, condition: Condition, questions: Questions
) -> list[float]:
    """One text, one condition; the loss written out."""
    model, written = loaded.model, {}
    if family == "bart":
        start = model.config.decoder_start_token_id
        written["decoder_input_ids"] = torch.tensor([[start, *questions.truth[:-1]]])
    with removed(model, family, condition), torch.no_grad():
        logits = model(input_ids=torch.tensor([questions.ids]), **written).logits[0].double()
    losses = []
    for position, target in zip(questions.positions, questions.targets, strict=True):
        if family == "electra":
            chance = 1 / (1 + math.exp(-logits[position].item()))
            losses.append(-math.log(chance if target else 1 - chance))
        else:
            row = logits[position]
            losses.append(math.log(row.exp().sum().item()) - row[target].item())
    return losses


@pytest.fixture(params=FAMILIES)
def family(request) -> str:
    return request.param


@pytest.fixture
def folder(family: str, tmp_path: Path) -> Path:
    # Bias of output layers and so on are stirred: nothing is 0 by its initialisation.
    return save_tiny(family, tmp_path / family, published=True)


def asked(folder: Path, mask: int | None) -> Questions:
    vocabulary = pd.DataFrame({"word": WORDS[:-1], "occurrences": 1})
    topics = {"frog": frozenset({0}), "toad": frozenset({0}), "opera": frozenset({1})}
    settings = HeadRemovalSettings(asked_share=0.5)
    tokenizer = load_tokenizer(folder)
    questions = Questioner(tokenizer, vocabulary, topics, settings, 32, mask).ask("a", TEXT)
    assert questions is not None and len(questions.positions) >= 2
    return questions


def test_all_conditions_at_once_are_what_hooks_make_one_by_one(family: str, folder: Path) -> None:
    loaded = load_word_model(folder, load_tokenizer(folder))
    assert isinstance(loaded, WordModel), loaded
    questions = asked(folder, loaded.mask)
    ratios = np.array([[2.0, 0.5], [1.0, 3.0]])
    sets = Heads(ratios, 0.5).drawn(np.random.default_rng(0))
    conditions = conditions_of(sets)
    slow = [loss_of_each_word(loaded, family, one, questions) for one in conditions]
    fast = read_without(loaded, HeadSwitch(loaded.model), conditions, questions)
    np.testing.assert_allclose(fast, slow, rtol=2e-5, atol=1e-6)
    assert np.abs(fast[1:] - fast[0]).max(axis=1).min() > 1e-4  # every removal shows
