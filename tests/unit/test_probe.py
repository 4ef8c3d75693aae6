"""A model of one's own under the probe: `onelayer.probe_topic_structure` and `onelayer probe`."""

import numpy as np
import pandas as pd
import pytest

import onelayer
from onelayer.errors import OnelayerError
from onelayer.probe import probe_folder, verdict
from onelayer.settings.probe import UncertaintySettings
from onelayer.text.models.checkpoints import load_checkpoint
from onelayer.text.models.tokenizer import load_tokenizer
from tests.oracle.wikipedia import WORDS, save_tiny

FEW = UncertaintySettings(document_resamples=100, word_resamples=50, permutations=50)
TOPICS = {"animals": ["Frog", "froglet", *WORDS[1:8]], "music": WORDS[8:]}
RNG = np.random.default_rng(0)
TEXTS = [" ".join(RNG.choice([*WORDS, "the"], size=40)) for _ in range(30)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_tiny(tmp_path_factory.mktemp("tiny") / "model")


@pytest.fixture(scope="module")
def tiny(folder):
    return load_checkpoint(folder), load_tokenizer(folder)


def test_a_model_has_a_ratio_with_interval_and_null(tiny):
    table = onelayer.probe_topic_structure(*tiny, TEXTS, TOPICS, max_tokens=64, uncertainty=FEW)
    row = table.set_index("quantity").loc["attention_ratio"]
    assert row["low"] <= row["value"] <= row["high"] and row["n"] == 30
    assert row["null_low"] <= row["null"] <= row["null_high"]
    assert row["overlap"] == "disjoint" and "embedding_cosine_ratio" in set(table["quantity"])


def test_words_of_two_topics_make_topics_overlap(tiny):
    topics = {"a": WORDS[:7], "b": WORDS[6:12], "c": WORDS[11:]}
    table = onelayer.probe_topic_structure(*tiny, TEXTS, topics, max_tokens=64, uncertainty=FEW)
    assert set(table["overlap"]) == {"overlapping"}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"texts": TEXTS[:1]}, "texts: a list of at least 2"),
        ({"texts": "a text"}, "texts: a list of at least 2"),
        ({"texts": [TEXTS[0], 5]}, "texts: a list of texts is needed, found int"),
        ({"texts": ["the", "the"]}, "none of 2 texts holds two different words"),
        ({"topics": {"animals": ["frog"]}}, "topics: .* at least 2 topics"),
        ({"topics": {"animals": "frog", "music": ["bach"]}}, "topics: animals: one word was given"),
        ({"topics": {"animals": ["newt"], "music": ["lied"]}}, "topics: threshold given"),
        ({"topics": pd.DataFrame({"word": ["frog"]})}, "topics: no column overlap, threshold"),
        ({"max_tokens": 65}, "max_tokens: 65; from 8 to 64"),
        ({"max_tokens": 7}, "max_tokens: 7; from 8 to 64"),
    ],
)
def test_bad_arguments_are_refused_in_one_line(changed, said, tiny):
    given = {"texts": TEXTS, "topics": TOPICS, "max_tokens": 64} | changed
    with pytest.raises(OnelayerError, match=said) as refused:
        onelayer.probe_topic_structure(*tiny, uncertainty=FEW, **given)
    assert "\n" not in str(refused.value)


@pytest.fixture
def results(tmp_path):
    topics, corpus = tmp_path / "results/topics/tiny", tmp_path / "results/corpora/tiny"
    topics.mkdir(parents=True)
    corpus.mkdir(parents=True)
    kept = [("disjoint", "top 3", place % 2, word) for place, word in enumerate(WORDS)]
    kept = pd.DataFrame(kept, columns=["overlap", "threshold", "topic", "word"])
    kept.to_parquet(topics / "kept_words.parquet")
    vocabulary = pd.DataFrame({"word": WORDS, "occurrences": [*range(8)] * 2})
    vocabulary.to_parquet(topics / "vocabulary.parquet")
    articles = pd.DataFrame({"text": TEXTS, "title": "a title", "label": None})
    articles = articles.assign(id=[f"{place}" for place in range(30)], label="none")
    articles.to_parquet(corpus / "articles.parquet")
    return tmp_path / "results"


def test_a_folder_is_probed_beside_random_weights(folder, results, tmp_path):
    to = tmp_path / "out"
    said = probe_folder(folder, results, to, name="mine", corpus="tiny", device="cpu", documents=30)
    assert {path.suffix for path in to.iterdir()} == {
        ".csv",
        ".md",
        ".tex",
        ".pdf",
        ".png",
        ".html",
    }
    table = pd.read_csv(to / "probe.csv")
    assert set(table["model"]) == {"mine", "random"}
    random = table[(table["model"] == "random") & (table["quantity"] == "attention_ratio")]
    assert random["value"].item() == pytest.approx(1, abs=0.02)
    assert max(map(len, said.splitlines()[:-1])) <= 80 and "In mine words of one topic" in said


@pytest.mark.parametrize(
    ("ends", "said"),
    [
        ((1.0, 0.99, 1.02), "negligible: within 0.03 of 1"),
        ((1.2, 1.1, 1.3), "one of topics"),
        ((0.8, 0.7, 0.9), "less, not more"),
        ((1.0, 0.9, 1.1), "undecided"),
    ],
)
def test_a_ratio_near_1_on_both_sides_is_negligible_not_undecided(ends, said):
    assert said in verdict(dict(zip(("value", "low", "high"), ends, strict=True)))


def test_a_run_without_topics_is_refused(folder, tmp_path):
    with pytest.raises(OnelayerError, match="no topics here"):
        probe_folder(folder, tmp_path, tmp_path / "out", name="mine")
