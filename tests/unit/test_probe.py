"""Models of one's own under the probe: `onelayer.probe_topic_structure` and `onelayer probe`."""

import re
import shutil
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch

import onelayer
from onelayer.__main__ import _folder, _make_topics, _name
from onelayer.errors import OnelayerError
from onelayer.probe import compare_checkpoints, described, verdict
from onelayer.settings.probe import UncertaintySettings
from onelayer.text.models.checkpoints import load_checkpoint, random_model
from onelayer.text.models.tokenizer import load_tokenizer
from onelayer.text.topics.lda import Topics, write_topics
from tests import tiny_models
from tests.oracle.wikipedia import WORDS, save_tiny
from tests.servers import COMMIT, Hub, become_a_client, serve

PAGE = Path(__file__).parents[2] / "docs/probe.md"
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
    kept = pd.concat([kept, kept.assign(overlap="overlapping")])
    kept.to_parquet(topics / "kept_words.parquet")
    others = [f"other{place}" for place in range(201)]  # the authors keep as many of a topic
    vocabulary = pd.DataFrame({"word": [*WORDS, *others], "occurrences": 1})
    vocabulary.to_parquet(topics / "vocabulary.parquet")
    likelihood = np.full((2, len(vocabulary)), 1.0)
    likelihood[[1, 0, *[0, 1] * 7], range(16)] = 9  # two words have the other topic than ours
    theirs = tmp_path / "results/sensitivity/tiny/topics/gensim-tf-idf-authors-2-0.safetensors"
    theirs.parent.mkdir(parents=True)
    write_topics(Topics(likelihood, np.ones(2), np.ones(len(vocabulary))), theirs)
    articles = pd.DataFrame({"text": TEXTS, "title": "a title", "label": None})
    articles = articles.assign(id=[f"{place}" for place in range(30)], label="none")
    articles.to_parquet(corpus / "articles.parquet")
    return tmp_path / "results"


def test_checkpoints_are_probed_each_beside_its_random_weights(
    folder, results, tmp_path, monkeypatch
):
    half = save_tiny(tmp_path / "half", "gpt2")
    load_checkpoint(half).to(torch.bfloat16).save_pretrained(half)
    of, to, precisions = {"mine": folder, "half": half}, tmp_path / "out", []

    def load(*args, **how):
        precisions.append((model := load_checkpoint(*args, **how)).dtype)
        return model

    monkeypatch.setattr("onelayer.probe.load_checkpoint", load)
    printed = compare_checkpoints(of, results, to, corpus="tiny", device="cpu", documents=30)
    endings = {f"probe.{ending}" for ending in ("csv", "md", "tex", "pdf", "png")}
    assert {path.name for path in to.iterdir()} == {*endings, "heads.csv", "reading.html"}
    table = pd.read_csv(to / "probe.csv").query("quantity == 'attention_ratio'")
    shown = table.drop_duplicates(keys := ["model", "weights", "way"])[keys]
    both = ("checkpoint", "random weights"), ("authors", "ours")
    assert list(shown.itertuples(index=False, name=None)) == list(product(of, *both))
    assert precisions == [torch.float32, torch.bfloat16]
    assert table.loc[shown.index, "value"].is_unique and set(table["overlap"]) == {"disjoint"}
    random = table[table["weights"] == "random weights"]
    assert random["value"].to_numpy() == pytest.approx(1, abs=0.02)
    assert len(pd.read_csv(to / "heads.csv")) == 2 * 2 * 2 * 2
    *lines, last = printed.splitlines()
    assert max(map(len, lines)) <= 80 and last.startswith(f"{to / 'reading.html'} (")
    shown = re.search(r"\$ onelayer probe .*\n((?s:.*?))```", PAGE.read_text(encoding="utf-8"))[1]
    assert shape(shown) == shape(printed)


def test_a_checkpoint_of_a_hub_is_fetched_once_as_it_is_at_its_commit(
    folder, tmp_path, monkeypatch
):
    hub = Hub(files={"models/a/mine": {path.name: path.read_bytes() for path in folder.iterdir()}})
    with serve(hub):
        become_a_client(hub, tmp_path, monkeypatch)
        found = _folder(f"a/mine@{COMMIT}", tmp_path)
    assert all((found / name).read_bytes() == of for name, of in hub.files["models/a/mine"].items())
    assert _folder(f"a/mine@{COMMIT}", tmp_path) == found  # without a hub
    assert _name(f"a/mine@{COMMIT}") == f"mine@{COMMIT[:7]}" and _name(str(folder)) == "model"


def test_a_table_has_each_number_in_its_column():
    equal = "attention_ratio_distance_standardised"
    rows = pd.DataFrame({"quantity": ["attention_ratio", equal] * 2, "value": [4.0, 3.0, 2.2, 2.0]})
    rows["weights"] = ["checkpoint"] * 2 + ["random weights"] * 2
    theirs = rows.assign(value=rows["value"] + 1, way="authors", threshold="top 5")
    rows = pd.concat([theirs, rows.assign(way="ours", threshold="top 3")], ignore_index=True)
    rows = rows.assign(model="mine", n=30, null=2.0)
    rows["null_low"], rows["null_high"], rows["over_null"] = 1.9, 2.1, rows["value"] / 2
    for end, by in (("low", 0.9), ("high", 1.1)):
        rows[end], rows[f"over_{end}"] = by * rows["value"], by * rows["over_null"]
    _, _, theirs, ours, _, sentence = described(rows).split("\n", 5)
    assert theirs == "      mine authors 5.00 [4.50, 5.50] 4.00 [3.60, 4.40] 3.00 [2.70, 3.30]"
    assert ours == "      mine    ours 4.00 [3.60, 4.40] 3.00 [2.70, 3.30] 2.00 [1.80, 2.20]"
    assert " ".join(sentence.split()).endswith(
        "each other: the authors' way (top 5) more in mine (2.00 [1.80, 2.20] times); "
        "our way (top 3) more in mine (1.50 [1.35, 1.65] times)."
    )


def test_long_names_are_cut_to_80_columns(tiny):
    table = onelayer.probe_topic_structure(*tiny, TEXTS, TOPICS, max_tokens=64, uncertainty=FEW)
    both = product(("checkpoint", "random weights"), ("authors", "ours"))
    rows = [table.assign(model="a" * 70 + "z", weights=weights, way=way) for weights, way in both]
    _, header, row, *_ = described(pd.concat(rows, ignore_index=True)).splitlines()
    assert len(header) == len(row) == 80 and row.startswith("…a") and "az " in row


def shape(printed):
    """The header's columns, how rows of numbers look, and how the two last parts begin."""
    above, header, *rows = printed.splitlines()
    _, sentence, last = printed.strip().split("\n\n")
    numbers = [re.sub(r"\d", "0", row.split(maxsplit=1)[1]) for row in rows[:2]]
    of = re.sub(r"\(.*?\)", "", " ".join(sentence.split()))
    headers = above.split() + header.split()
    return headers, numbers, of.split(":")[0], re.sub(r".*/|[\d.]+ ", "", last)


TRIED = ("bert", "roberta", "albert", "electra", "bart", "distilbert", "mpnet", "deberta-v2")
TRIED = (*TRIED, "modernbert", "gpt2", "llama", "gemma2")


@pytest.mark.parametrize("family", TRIED)
def test_random_weights_of_any_architecture_follow_no_topic(family, tmp_path):
    source = tiny_models.save_tiny(family, tmp_path / family)
    texts = [
        " ".join(RNG.choice([*tiny_models.WORDS, *tiny_models.MORE], size=40)) for _ in range(20)
    ]
    topics = {
        "animals": [*tiny_models.WORDS[:3], *tiny_models.MORE[:4]],
        "music": [*tiny_models.WORDS[3:6], *tiny_models.MORE[4:]],
    }
    given = random_model(source, 0, attn_implementation="eager"), load_tokenizer(source)
    table = onelayer.probe_topic_structure(*given, texts, topics, max_tokens=60, uncertainty=FEW)
    by = table.set_index("quantity")["value"]
    assert by["attention_ratio"] == pytest.approx(1, abs=0.02)
    assert by["attention_ratio_distance_standardised"] == pytest.approx(1, abs=0.02)
    assert len(by["head_ratio"]) == 4 and np.isfinite(by["embedding_dot_ratio"])


def test_a_ratio_is_judged_over_its_null(tiny):
    table = onelayer.probe_topic_structure(*tiny, TEXTS, TOPICS, max_tokens=64, uncertainty=FEW)
    row = table.set_index("quantity").loc["attention_ratio"]
    assert row["over_null"] == pytest.approx(row["value"] / row["null"])
    assert row["over_low"] == pytest.approx(row["low"] / row["null"])


@pytest.mark.parametrize(
    ("null", "over", "said"),
    [
        (1.2, (1.0, 0.99, 1.02), "negligibly more or less (within 0.03) in"),
        (1.0, (1.2, 1.1, 1.3), "more in"),
        (1.5, (0.8, 0.7, 0.9), "less in"),
        (1.0, (1.0, 0.9, 1.1), "undecided in"),
        (1.2, (1.08, 1.05, 1.2), "undecided in"),  # what permuted topics may show
    ],
)
def test_a_ratio_near_its_null_on_both_sides_is_negligible_not_undecided(null, over, said):
    names = ("value", "low", "high"), ("over_null", "over_low", "over_high")
    row = {"n": 30, "null": null, "null_low": 0.91 * null, "null_high": 1.09 * null}
    for name, of, number in zip(*names, over, strict=True):
        row |= {name: number * null, of: number}
    assert verdict(row) == said


@pytest.mark.parametrize("kept", ["", "topics", "sensitivity"])
def test_a_run_without_both_topics_makes_them_or_is_refused(
    kept, folder, results, tmp_path, monkeypatch
):
    asked = []
    done = SimpleNamespace(returncode=0)
    monkeypatch.setattr("subprocess.run", lambda command, **_: asked.append(command) or done)
    _make_topics(results, "tiny", "1")
    assert not asked  # both are there
    for name in {"topics", "sensitivity"} - {kept}:
        shutil.rmtree(results / name)
    _make_topics(results, "tiny", "1")
    assert asked[0][-4:] == [
        "--forcerun",
        "fit_lda",
        "--",
        "results/topics/tiny/kept_words.parquet",
    ]
    with pytest.raises(OnelayerError, match="no topics here"):
        compare_checkpoints({"mine": folder}, results, tmp_path / "out", corpus="tiny")
