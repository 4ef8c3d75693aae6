"""Heads removed at once beside a plain loop that removes them with hooks, text after text."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from onelayer.papers.topic_structure.wikipedia.probe.head_removal import (
    Heads,
    Questioner,
    Questions,
    conditions_of,
    read_without,
)
from onelayer.settings.root import default_settings
from onelayer.text.models.head_switch import HeadSwitch
from onelayer.text.models.tokenizer import load_tokenizer
from onelayer.text.models.word_heads import WordModel, load_word_model
from tests.oracle.head_hooks import loss_of_each_word
from tests.tiny_models import FAMILIES, WORDS, save_tiny

STRUCTURE = default_settings().topic_structure
TEXT = "the frog, the toad! bach mozart opera. pond the frog, opera."


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
    settings = STRUCTURE.wikipedia.head_removal.but(documents=2, asked_share=0.5)
    tokenizer = load_tokenizer(folder)
    questions = Questioner(tokenizer, vocabulary, topics, settings, 32).ask("a", TEXT, mask)
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
