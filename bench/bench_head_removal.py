"""Times words predicted without heads against a loop over conditions that removes them by hooks.

The paper's authors have no such code.
"""

from collections.abc import Iterator

import numpy as np
import torch
from transformers import BertConfig, BertForMaskedLM

from bench.case import Case, Numbers, Way, Work
from onelayer.papers.topic_structure.wikipedia.probe.head_removal import (
    Heads,
    Questions,
    conditions_of,
    read_without,
)
from onelayer.text.models.head_switch import HeadSwitch
from onelayer.text.models.word_heads import WordModel
from tests.oracle.head_hooks import loss_of_each_word

MASK = 4


def cases(small: bool = False) -> Iterator[Case]:
    """A document read by a model of the size that is pretrained here, under all conditions."""
    yield _document(*((20, 24, 2, 100) if small else (90, 128, 4, 10_000)))


def _document(tokens: int, width: int, heads: int, pieces: int, layers: int = 2) -> Case:
    config = BertConfig(
        vocab_size=pieces,
        num_hidden_layers=layers,
        hidden_size=width,
        num_attention_heads=heads,
        intermediate_size=4 * width,
        max_position_embeddings=tokens,
        initializer_range=0.2,
    )
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    plain, switched = BertForMaskedLM(config).eval(), BertForMaskedLM(config).eval()
    switched.load_state_dict(plain.state_dict())
    truth = rng.integers(MASK + 1, pieces, tokens)
    positions = np.sort(rng.permutation(tokens)[: tokens // 10])
    ids = truth.copy()
    ids[positions] = MASK
    asked = Questions(
        ids.tolist(), truth.tolist(), positions, truth[positions], np.ones(len(positions), bool)
    )
    conditions = conditions_of(Heads(rng.random((layers, heads)), 0.25).drawn(rng))
    ours, theirs = WordModel(switched, MASK), WordModel(plain, MASK)
    switch = HeadSwitch(switched)

    def loop() -> Numbers:
        return {"loss": [loss_of_each_word(theirs, "bert", one, asked) for one in conditions]}

    weights = layers * 12 * width**2
    each = (
        tokens * (2 * weights + 4 * layers * tokens * width) + 2 * len(ids) // 10 * width * pieces
    )
    return Case(
        name=f"words of a document of {tokens} tokens without heads, {len(conditions)} conditions",
        steps=("measure_head_removal",),
        ours=Way("ours", lambda: {"loss": read_without(ours, switch, conditions, asked)}),
        simple=Way("hooks, one condition after the other", loop, tolerance=1e-4),
        authors="none",
        count_work=lambda: Work(
            flops=len(conditions) * each,
            bytes=4 * (weights + width * pieces),
            rate="torch float32",
            formula="T (24 d^2 + 4 T d) flops a layer and 2 d pieces a word asked for, each time",
        ),
    )
