"""Li, Li & Risteski (2023) on Wikipedia: words of topics, what the probe asks, tables, the page."""

import base64
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pydantic
import pytest
import torch
import transformers

from onelayer.errors import OnelayerError
from onelayer.settings.probe import AttentionProbeSettings, UncertaintySettings
from onelayer.settings.topic_structure import (
    AuthorsWay,
    SensitivitySettings,
    Way,
    WikipediaSettings,
)
from onelayer.settings.topics import LdaSettings
from onelayer.text.models.checkpoints import forward, load_checkpoint, random_model, save_checkpoint
from onelayer.text.models.tokenizer import load_tokenizer, piece_ids
from onelayer.text.pretraining.text import CLS_ID, SEP_ID
from onelayer.topic_structure.wikipedia import reading
from onelayer.topic_structure.wikipedia.measure import (
    ACROSS,
    ATTENTION,
    DRAWN,
    EQUAL,
    TIGHTER,
    WITHIN,
    measure_attention,
    measure_embeddings,
)
from onelayer.topic_structure.wikipedia.probe import (
    Text,
    encode_texts,
    pair_attention,
    sample_articles,
)
from onelayer.topic_structure.wikipedia.published import (
    learned,
    model_rows,
    not_run,
    read_published,
)
from onelayer.topic_structure.wikipedia.ratio import (
    Labels,
    Pairs,
    Variant,
    label_words,
    tightest,
    topic_bits,
)
from onelayer.topic_structure.wikipedia.similarity import COSINE, DOT, RAW
from onelayer.topic_structure.wikipedia.variations import measure_inputs, measure_ways
from tests.oracle.wikipedia import WORDS, save_tiny

ROOT = Path(__file__).parents[2]
FEW = UncertaintySettings(document_resamples=100, word_resamples=50, permutations=50)
HOW = AttentionProbeSettings(documents=50, max_tokens=64, seed=0)
RNG = np.random.default_rng(0)
TEXTS = [" ".join(RNG.choice([*WORDS, "the", ","], size=RNG.integers(20, 60))) for _ in range(50)]
KEPT = pd.DataFrame(
    [("disjoint", "top 3", place // 8, word) for place, word in enumerate(WORDS)],
    columns=["overlap", "threshold", "topic", "word"],
)
VOCABULARY = pd.DataFrame({"word": WORDS, "occurrences": [*range(8)] * 2})
ARTICLES = pd.DataFrame({"id": range(50), "text": TEXTS, "title": "a title"})


@pytest.fixture(scope="module")
def tiny(tmp_path_factory) -> Path:
    return save_tiny(tmp_path_factory.mktemp("tiny") / "model")


def probed(folder: Path, texts: list[str] = TEXTS, batch: int = 1) -> tuple[Pairs, Labels]:
    model, tokenizer = load_checkpoint(folder), load_tokenizer(folder)
    labels = label_words(KEPT, VOCABULARY, piece_ids(tokenizer, WORDS))
    encoded = encode_texts(tokenizer, texts, labels.words, 64)
    pairs, _ = pair_attention(model, encoded, topic_bits(labels.topics[0]), batch=batch)
    return pairs.length_corrected(), labels


def test_random_weights_have_ratio_one(tmp_path, tiny):
    """The acceptance number of a random model: attention .9993 to 1.0008 of uniform attention."""
    save_checkpoint(random_model(tiny, 0), tmp_path, tiny)
    pairs, labels = probed(tmp_path)
    table = measure_attention(pairs, labels, FEW).set_index("quantity")
    for quantity in (ATTENTION, EQUAL):
        assert table.loc[quantity, "value"] == pytest.approx(1, abs=0.01)
        assert table.loc[quantity, "null"] == pytest.approx(1, abs=0.01)


def uniform(model: torch.nn.Module, ids: list[int]) -> torch.Tensor:
    return torch.full((1, 1, len(ids), len(ids)), 1 / len(ids))


def causal(model: torch.nn.Module, ids: list[int]) -> torch.Tensor:
    weights = torch.ones(len(ids), len(ids)).tril()
    return (weights / weights.sum(dim=-1, keepdim=True))[None, None]


@pytest.mark.parametrize("attention", [uniform, causal])
def test_uniform_attention_gives_every_pair_one_value_whatever_the_length(
    attention, tiny, monkeypatch
):
    monkeypatch.setattr("onelayer.text.models.checkpoints.forward", attention)
    pairs, _ = probed(tiny)
    assert len(np.unique(pairs.keys)) > 10
    np.testing.assert_allclose(pairs.weights, 1, rtol=1e-6)


def test_a_model_of_topics_attends_within_them_and_beyond_its_null(tiny, monkeypatch):
    topic = {4 + place: place // 8 for place in range(16)}

    def follows(model, ids):
        same = [[topic.get(a, -1) == topic.get(b, -2) for b in ids] for a in ids]
        weights = 1 + torch.tensor(same, dtype=torch.float32)
        return (weights / weights.sum(dim=-1, keepdim=True))[None, None]

    monkeypatch.setattr("onelayer.text.models.checkpoints.forward", follows)
    pairs, labels = probed(tiny)
    row = measure_attention(pairs, labels, FEW).set_index("quantity").loc[ATTENTION]
    assert 1.9 < row["value"] < 2.1 and row["low"] > 1.5 and row["p"] < 0.2


@pytest.mark.parametrize("family", ["bert", "gpt2", "roberta"])
def test_texts_read_in_batches_give_what_each_gives_alone(family, tmp_path):
    folder = save_tiny(tmp_path / family, family)
    (alone, _), (together, _) = (probed(folder, batch=batch) for batch in (1, 7))
    for column, expected in zip(together, alone, strict=True):
        np.testing.assert_allclose(column, expected, rtol=1e-5)


def test_a_causal_model_is_seen_from_its_weights(tmp_path):
    texts = ["frog toad the bach", "the mozart frog"]
    pairs, _ = probed(save_tiny(tmp_path / "gpt2", "gpt2"), texts)
    assert len(pairs.first) == 2  # of the first token no pair, of the others one direction


def test_words_that_are_no_single_piece_are_left_out():
    extra = pd.DataFrame([("disjoint", "top 3", 0, "froglet")], columns=KEPT.columns)
    labels = label_words(pd.concat([KEPT, extra]), VOCABULARY, WORDS)
    assert list(labels.words) == sorted(WORDS) and labels.topics.sum() == 16


@pytest.mark.parametrize("known", [["frog"], ["frog", "bach"], ["frog", "toad"]])
def test_words_without_pairs_of_both_kinds_are_refused(known):
    with pytest.raises(OnelayerError, match=r"threshold top 3, disjoint: \d of 16 words .* needed"):
        label_words(KEPT, VOCABULARY, known)


def test_texts_longer_than_a_model_reads_are_refused(tiny):
    text = Text([1] * 65, np.zeros(0, int), np.zeros(0, int), np.zeros(0, int))
    with pytest.raises(OnelayerError, match="65 in a text; this model reads at most 64"):
        pair_attention(load_checkpoint(tiny), [text], topic_bits(np.eye(16) > 0))


def test_texts_without_two_words_of_topics_are_refused(tiny):
    with pytest.raises(OnelayerError, match="none of 2 texts holds two different words"):
        probed(tiny, ["the frog", "frog frog"])


def test_too_few_pairs_are_refused_with_the_number_of_words(tiny):
    pairs, labels = probed(tiny, ["frog toad bach", "frog toad"])
    with pytest.raises(OnelayerError, match="too few pairs of 16 words of 2 topics"):
        measure_attention(pairs, labels, FEW)


def test_vectors_of_length_zero_have_no_cosine():
    words = pd.DataFrame(
        {"word": sorted(WORDS), "raw": [np.zeros(2)] * 16, "output": [np.ones(2)] * 16}
    )
    with pytest.raises(OnelayerError, match="16 of 16 vectors are zero or not finite"):
        measure_embeddings([words], label_words(KEPT, VOCABULARY, WORDS), FEW)


def test_all_models_see_the_same_articles_and_a_larger_draw_holds_the_smaller(tmp_path):
    few, more = (HOW.model_copy(update={"documents": n}) for n in (10, 20))
    columns = ARTICLES.assign(label="")
    columns.to_parquet(tmp_path / "articles.parquet", row_group_size=7)
    files = [tmp_path / "articles.parquet"] * 3
    ids = [set(sample_articles(*one)["id"]) for one in zip(files, (few, few, more), strict=True)]
    assert ids[0] == ids[1] and ids[0] < ids[2] and len(ids[2]) == 20


def test_inputs_tell_pairs_of_one_article_from_pairs_of_two(tmp_path):
    folder = save_tiny(tmp_path / "model")
    ids = np.array([[4 + p for p in RNG.integers(0, 16, 16)] for _ in range(60)])
    texts = [(one, np.arange(16) // 8) for one in ids]
    tokenizer = load_tokenizer(folder)
    given = [load_checkpoint(folder)], tokenizer, texts, KEPT, VOCABULARY, FEW, [0]
    table = measure_inputs(*given)
    ratios = table[table["quantity"] == ATTENTION].set_index("probed")["value"]
    assert list(ratios.index) == [WITHIN, ACROSS]
    one = [(ids, np.zeros(len(ids), int)) for ids, _ in texts]
    whole = measure_inputs(*given[:2], one, *given[3:])
    assert set(whole["probed"]) == {WITHIN}


def test_drawn_words_are_paired_by_the_topic_that_they_were_drawn_from(tiny):
    texts = [(RNG.integers(4, 20, 24), RNG.integers(0, 3, 24)) for _ in range(40)]
    model, tokenizer = load_checkpoint(tiny), load_tokenizer(tiny)
    given = [model], tokenizer, texts, KEPT, VOCABULARY, FEW, [0], True
    row = measure_inputs(*given).set_index("quantity").loc[ATTENTION]
    weights = {True: [], False: []}
    for ids, topics in texts:
        read = [CLS_ID, *ids.tolist(), SEP_ID]
        mean = forward(model, read).double().mean(dim=(0, 1)).numpy()
        for i, j in np.argwhere(ids[:, None] != ids):
            weights[topics[i] == topics[j]].append(mean[i + 1, j + 1])
    assert row["value"] == pytest.approx(np.mean(weights[True]) / np.mean(weights[False]), rel=1e-5)
    assert row["null_low"] < 1 < row["null_high"] and row["null_low"] < row["null"]
    assert row["probed"] == DRAWN


def test_each_way_changes_one_choice(tiny):
    given = load_checkpoint(tiny), load_tokenizer(tiny), ARTICLES
    ways = [Way(name="ours"), Way(name="last", pooling="last layer")]
    ways += [Way(name="long", length="as it is"), Way(name="none")]
    kept = dict.fromkeys(["ours", "last", "long"], KEPT) | {"none": KEPT.iloc[:2]}
    table = measure_ways(*given, ways, kept, VOCABULARY, HOW, FEW)
    ratios = table[table["quantity"] == ATTENTION].set_index("way")["value"]
    assert list(ratios.index) == ["ours", "last", "long"] and ratios.nunique() == 3
    pairs, labels = probed(tiny)
    assert ratios["ours"] == measure_attention(pairs, labels, FEW)["value"].iloc[0]
    cosines = set(table[table["quantity"] == COSINE]["value"])
    assert len(cosines) == 1


def test_the_authors_way_is_one_pass_with_gensims_defaults():
    lda = {"backend": "gensim", "topics": 50, "passes": 6, "seed": 0}
    lda |= {"chunksize": 500, "decay": 0.7, "offset": 10, "sweeps": 200}
    ours = LdaSettings(**lda)
    way = AuthorsWay(topics=100, seed=1)
    theirs = way.lda(ours)
    assert (theirs.passes, theirs.chunksize, theirs.decay, theirs.offset) == (1, 2000, 0.5, 1)
    assert (theirs.topics, theirs.seed) == (100, 1)
    assert Way(name="ours").lda(ours) == ours
    assert way.fit(ours) != Way(name="ours").fit(ours)


@pytest.mark.parametrize(
    ("block", "values", "said"),
    [
        (AttentionProbeSettings, {"documents": 1}, "documents"),
        (AttentionProbeSettings, {"max_tokens": 4}, "max_tokens"),
        (UncertaintySettings, {"permutations": 3}, "permutations"),
        (Way, {"name": "x", "pooling": "first layer"}, "pooling"),
        (SensitivitySettings, {"ways": [{"name": "a"}, {"name": "a"}]}, "given twice"),
        (WikipediaSettings, {"models": []}, "models"),
        (WikipediaSettings, {"head_removal": {}}, "unknown key 'head_removal'"),
    ],
)
def test_bad_settings_are_refused(block, values, said):
    with pytest.raises(pydantic.ValidationError, match=said):
        block(**values)


PUBLISHED = read_published(ROOT / "workflow/reference/topic_structure_wikipedia.csv")
THRESHOLDS = {"top 20": 0.0005, "top 100": 0.002}
WAYS = {"ours": THRESHOLDS}


def measures(**changes: float) -> pd.DataFrame:
    row = {"seed": "all", "overlap": "disjoint", "value": 1.5, "low": 1.4, "high": 1.6, "n": 9}
    row |= {"null": 1.0, "null_low": 0.9, "null_high": 1.1, "p": 0.01, "way": "ours"} | changes
    rows = [
        row | {"threshold": threshold, "quantity": quantity}
        for threshold in THRESHOLDS
        for quantity in (ATTENTION, EQUAL, COSINE, DOT, RAW)
    ]
    rows.append(row | {"threshold": "top 20 - top 100", "quantity": TIGHTER})
    apart = row | {"threshold": "top 20", "quantity": "embedding_dot_different"}
    return pd.DataFrame([*rows, apart | {"low": -0.1, "high": 0.1}])


def test_published_numbers_stand_beside_their_rows():
    rows = model_rows(measures(), "mine", "bert", [], WAYS, PUBLISHED)
    by = rows.set_index(["threshold", "quantity"])["published"]
    assert by["top 20", ATTENTION] == 1.32 and by["top 100", COSINE] == 1.11
    assert by["top 20 - top 100", TIGHTER] == pytest.approx(1.32 - 1.22)
    # At equal distance the paper says nothing; a mean of 0 below the line has no ratio.
    assert np.isnan(by["top 20", EQUAL]) and np.isnan(by["top 20", DOT])
    # Of E the ratio is set beside the published one, at the tightest threshold.
    assert by["top 20", RAW] == 1.21 and ("top 100", RAW) not in by.index


def test_what_was_published_and_not_probed_stays_in_the_table():
    missing = not_run(PUBLISHED, "disjoint", [("random", at) for at in (0.0005, 0.001, 0.002)])
    assert set(missing["model"]) == {"bert", "albert", "bart", "electra", "roberta"}
    assert len(missing) == 45


def history(nats: float) -> pd.DataFrame:
    rows = [(0, "held-out", 0.0), (9, "held-out", nats), (9, "training", 5.0)]
    return pd.DataFrame(rows, columns=["tokens", "split", "value"]).assign(quantity="below_unigram")


@pytest.mark.parametrize(
    ("nats", "state"),
    [
        ([0.2], "undecided"),
        ([-0.1], "not reached"),
        ([0.2, 0.21], ""),
        ([0.3, -0.1], "not reached"),
    ],
)
def test_what_has_not_learned_is_not_judged(nats, state):
    histories = [history(one) for one in nats]
    assert learned(histories)[0]["value"] == pytest.approx(np.mean(nats))
    rows = model_rows(measures(), "small", None, histories, WAYS, PUBLISHED)
    assert rows.set_index(["threshold", "quantity"]).loc[("top 20", ATTENTION), "state"] == state


# The page on which attention is seen.
WRITTEN = ["Frog", ",", "froglet", "toad"]


def test_articles_that_begin_with_most_words_of_topics_are_shown():
    texts = ["the the the the the the the the frog toad", "The Frog, a toad.", "Mozart and others"]
    articles = pd.DataFrame({"title": ["late", "two", "one"], "text": texts})
    chosen = reading.choose_articles(articles, KEPT, 2, 8)
    assert [one["title"] for one in chosen] == ["two", "one"]
    assert chosen[0]["topics"] == [None, 0, None, None, 0, None]
    assert '"topics":{"0":"frog, toad, pond, newt"' in reading.page("/*DATA*/", chosen, KEPT, [])
    assert len(tightest(KEPT)) == 16


def test_attention_of_words_is_summed_over_keys_pieces_and_averaged_over_queries(tiny):
    model, tokenizer = load_checkpoint(tiny), load_tokenizer(tiny)
    found = reading.word_attention(model, tokenizer, WRITTEN)
    encoding = tokenizer.encode(WRITTEN, is_pretokenized=True)
    pieces, word_of = forward(model, encoding.ids).numpy(), encoding.word_ids
    assert word_of.count(2) == 2 and found.shape == (2, 2, 4, 4)
    for layer, head, query, key in np.ndindex(found.shape):
        asking = [place for place, word in enumerate(word_of) if word == query]
        asked = [place for place, word in enumerate(word_of) if word == key]
        slow = np.mean([sum(pieces[layer, head, a, b] for b in asked) for a in asking])
        assert found[layer, head, query, key] == pytest.approx(slow, abs=1e-6)


def test_words_behind_those_that_a_model_reads_have_no_attention(tiny):
    found = reading.word_attention(load_checkpoint(tiny), load_tokenizer(tiny), ["frog"] * 70)
    assert found.shape[2:] == (70, 70)
    assert found[:, :, :62, :62].all() and not found[:, :, 62:].any()


def test_weights_survive_as_bytes_to_a_hundredth_of_their_root():
    weights = np.linspace(0, 1, 101)
    read = np.frombuffer(base64.b64decode(reading.stored(weights)), np.uint8)
    assert np.abs(np.sqrt(weights) - read / reading.MOST).max() <= 0.5 / reading.MOST


def test_no_word_of_an_article_ends_the_data(tiny):
    template = (ROOT / "workflow/report/reading.html").read_text(encoding="utf-8")
    article = {"title": "</script><b>", "words": ["<!--", "toad"], "topics": [None, 0]}
    heads = pd.DataFrame({"layer": [1, 1], "head": [1, 2], "ratio": [1.23456, np.nan]})
    model = load_checkpoint(tiny)
    shown = reading.shown_model("mine", model, load_tokenizer(tiny), heads, [article])
    assert shown["ratios"] == [[1.235, None]]
    text = reading.page(template, [article], KEPT, [shown])
    [kept] = re.findall(r'id="data">(.*?)</script>', text, re.DOTALL)
    assert json.loads(kept)["articles"] == [article] and "<" not in kept


def test_the_tiny_model_is_one_that_transformers_reads(tiny):
    assert isinstance(load_checkpoint(tiny), transformers.BertModel)
    assert Variant("disjoint", "top 3").rows_in(KEPT).equals(KEPT)
