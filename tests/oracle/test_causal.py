"""Causal models: the lower triangle alone, against plain loops, and what it must not find."""

import numpy as np
import pandas as pd
import pytest
import torch
from transformers import AutoModel

from onelayer.papers.topic_structure.wikipedia.probe import attention, batches
from onelayer.papers.topic_structure.wikipedia.probe.attention import probe_attention
from onelayer.papers.topic_structure.wikipedia.probe.labels import labels_of, variants_of
from onelayer.papers.topic_structure.wikipedia.probe.measures import measure_attention
from onelayer.papers.topic_structure.wikipedia.probe.pairs import PairCounter
from onelayer.papers.topic_structure.wikipedia.probe.uncertainty import (
    permuted_attention,
    standardised_means,
)
from onelayer.settings.probe import UncertaintySettings
from onelayer.settings.root import default_settings
from onelayer.text.models.checkpoints import is_causal, load_checkpoint, save_random_checkpoint
from onelayer.text.models.tokenizer import encode, load_tokenizer
from tests.oracle import attention_loops, cases, null_loops
from tests.tiny_models import CAUSAL, ENCODERS, save_tiny

PROBED = default_settings().probe.attention
LENGTH = 10
TEXTS = [
    "The frog, the toad; the pond. A froglet! Bach",
    "Bach, Mozart. Opera, opera! The toad.",
    "pond frog bach mozart toad opera the frog zebra pond",
]
KEPT = pd.DataFrame(
    [("frog", 0), ("toad", 0), ("pond", 0), ("bach", 1), ("opera", 1), ("mozart", 1)],
    columns=["word", "topic"],
).assign(overlap="disjoint", threshold="top 3", probability=0.1)
BOTH = [1, 2]  # same topic, different topic


def uniform(tokens: int) -> np.ndarray:
    """What an untrained causal model does: every row shares its weight out evenly, float32."""
    keys = np.tril(np.ones((tokens, tokens)))
    return (keys / keys.sum(axis=-1, keepdims=True)).astype(np.float32)[None, None]


def probed(folder, texts: list[str]):
    tokenizer = load_tokenizer(folder)
    labels = labels_of(KEPT, [set(KEPT["word"])])
    settings = PROBED.but(max_tokens=32, reference_length=LENGTH)
    articles = pd.DataFrame({"id": [str(i) for i in range(len(texts))], "text": texts})
    model = load_checkpoint(folder)
    sums = probe_attention(model, tokenizer, articles, labels, variants_of(KEPT), settings)
    return sums, labels


@pytest.mark.parametrize("name", [*CAUSAL, *ENCODERS])
def test_a_causal_model_is_known_by_its_attention(name, tmp_path):
    model = load_checkpoint(save_tiny(name, tmp_path / "tiny"))
    assert is_causal(model, [5, 7, 9]) == (name in CAUSAL)


@pytest.mark.parametrize("name", CAUSAL)
def test_the_probe_sums_what_the_model_itself_says(name, tmp_path):
    folder = save_tiny(name, tmp_path / "tiny")
    sums, labels = probed(folder, TEXTS)
    whole = AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    topics = [cases.topic_sets(variant) for variant in labels.membership]
    head_sums = 0.0
    for place, text in enumerate(TEXTS):
        encoded = encode(load_tokenizer(folder), text, 32)
        with torch.no_grad():
            layers = whole(torch.tensor([encoded.ids]), output_attentions=True).attentions
        words = [labels.words.index(w) if w in labels.words else -1 for w in encoded.words]
        one = attention_loops.pair_sums(
            torch.cat(layers), encoded.positions, words, topics, LENGTH, causal=True
        )
        head_sums = head_sums + np.array(one[0])
        np.testing.assert_allclose(sums.distance_sums[place], one[2], rtol=1e-10)
        np.testing.assert_array_equal(sums.distance_counts[place], one[3])
    np.testing.assert_allclose(sums.head_sums, head_sums, rtol=1e-10)


@pytest.mark.parametrize("seed", range(5))
def test_uniform_attention_has_a_ratio_of_one_wherever_the_words_stand(seed):
    """Words of topic 0 stand first, those of topic 1 behind; documents differ in length."""
    rng = np.random.default_rng(seed)
    labels = cases.labels(rng, 8, 2, variants=1)
    labels.membership[0] = [[word < 4, word >= 4] for word in range(8)]
    counter = PairCounter(labels, LENGTH, causal=True)
    sums, counts = 0.0, 0
    for tokens in (12, 40):
        words = np.sort(rng.integers(0, 8, size=tokens))
        one = counter.pair_sums(uniform(tokens), np.arange(tokens), words)
        sums, counts = sums + one.distance_sums[0, BOTH], counts + one.distance_counts[0, BOTH]
    means = sums.sum(axis=1) / counts.sum(axis=1)
    assert means == pytest.approx(1 / LENGTH, rel=1e-6)
    assert standardised_means(sums[None], counts[None]).ratio[0] == pytest.approx(1, rel=1e-6)


def test_the_null_is_that_of_documents_whose_words_have_other_topics():
    rng = np.random.default_rng(0)
    labels = cases.labels(rng, 10, 3, variants=1)
    topics = cases.topic_sets(labels.membership[0])
    document = (cases.attention(rng, 2, 2, 40, causal=True), *cases.document(rng, 40, 10))
    fast = PairCounter(labels, LENGTH, causal=True).pair_sums(*document)
    labelled = np.flatnonzero(labels.membership[0].any(axis=1))
    permutations = []
    for _ in range(5):
        permutation = np.arange(10)
        permutation[labelled] = rng.permutation(labelled)
        permutations.append(permutation)
    null, _ = permuted_attention(fast.word_pairs, labels.membership[0], permutations)
    for place, permutation in enumerate(permutations):
        moved = null_loops.permuted_topics(topics, permutation)
        # Counted again from the document; pairs of a word with itself are in neither class.
        again = attention_loops.pair_sums(*document, [moved], LENGTH, causal=True)
        sums, counts = np.array(again[2])[0].sum(axis=-1), np.array(again[1])[0]
        assert null.same[place] == pytest.approx(sums[1] / counts[1], rel=1e-10)
        assert null.different[place] == pytest.approx(sums[2] / counts[2], rel=1e-10)


def test_the_first_token_is_left_out():
    rng = np.random.default_rng(1)
    labels = cases.labels(rng, 6, 2, variants=2)
    positions, words = np.arange(20), rng.integers(0, 6, size=20)
    attention = cases.attention(rng, 1, 2, 20, causal=True)
    counter = PairCounter(labels, LENGTH, causal=True)
    whole = counter.pair_sums(attention, positions, words)
    without = counter.pair_sums(attention, positions[1:], words[1:])
    np.testing.assert_array_equal(whole.head_sums, without.head_sums)
    assert whole.distance_counts.sum() == 2 * 19 * 18 / 2


def test_attention_that_looks_ahead_is_not_taken_for_causal():
    rng = np.random.default_rng(2)
    counter = PairCounter(cases.labels(rng, 6, 2), LENGTH, causal=True)
    with pytest.raises(ValueError, match="weights on later tokens"):
        counter.pair_sums(cases.attention(rng, 1, 1, 9), np.arange(9), np.zeros(9, int))


@pytest.mark.parametrize("device", ["cpu", "gpu"])
def test_a_blank_text_is_a_document_without_pairs(device, tmp_path, monkeypatch):
    monkeypatch.setattr(attention, "on_gpu", lambda _: device == "gpu")
    monkeypatch.setattr(batches, "fitting", lambda *_: 64)
    monkeypatch.setattr(batches, "to_device", lambda array, _: torch.as_tensor(array))
    folder = save_tiny("gpt2", tmp_path / "tiny")
    found, _ = probed(folder, [TEXTS[0], " \n", TEXTS[1]])
    without, _ = probed(folder, TEXTS[:2])
    assert not found.distance_counts[1].any()
    assert found.distance_sums[[0, 2]] == pytest.approx(without.distance_sums)
    assert found.head_sums == pytest.approx(without.head_sums)


@pytest.mark.parametrize("name", CAUSAL)
def test_a_random_model_shows_no_topic_structure(name, tmp_path):
    """Though ponds stand together, and first: a causal row has fewer and larger weights there."""
    original = save_tiny(name, tmp_path / "tiny")
    (tmp_path / "random").mkdir()
    save_random_checkpoint(original, tmp_path / "random", 0)
    rng = np.random.default_rng(3)
    texts = []
    for _ in range(40):
        ponds = rng.choice(["frog", "toad", "pond", "the"], size=10)
        operas = rng.choice(["bach", "opera", "mozart", "the", "frog"], size=10)
        texts.append(" ".join([*ponds, *operas]))
    sums, labels = probed(tmp_path / "random", texts)
    settings = UncertaintySettings(document_resamples=100, permutations=50)
    measures = measure_attention([sums], labels, np.ones(6), settings).set_index("quantity")
    for quantity in ("attention_ratio", "attention_ratio_distance_standardised"):
        assert measures.loc[quantity, "value"] == pytest.approx(1, abs=0.02)
