"""The page on which attention on a text can be looked at: its data, and what it shows."""

import base64
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from onelayer.papers.topic_structure.wikipedia import reading
from onelayer.settings.root import default_settings
from onelayer.text.models.checkpoints import forward, load_checkpoint
from onelayer.text.models.tokenizer import load_tokenizer
from tests.conftest import ROOT
from tests.tiny_models import save_tiny
from tests.workflow.browser import Page

STRUCTURE = default_settings().topic_structure
TEMPLATE = (ROOT / "workflow/report/reading.html").read_text(encoding="utf-8")
KEPT = pd.DataFrame(
    {
        "overlap": ["disjoint"] * 3 + ["overlapping"],
        "threshold": ["top 2"] * 4,
        "topic": [0, 0, 1, 1],
        "word": ["frog", "toad", "mozart", "frog"],
    }
)
WORDS = ["Frog", ",", "froglet", "toad"]


@pytest.fixture(scope="module", params=["bert", "bart", "roberta", "albert"])
def tiny(request, tmp_path_factory) -> Path:
    return save_tiny(request.param, tmp_path_factory.mktemp("tiny") / "model")


def test_articles_that_begin_with_most_words_of_topics_are_shown() -> None:
    articles = pd.DataFrame(
        {
            "title": ["late", "two", "one"],
            "text": ["a b c d e f g h frog toad", "The Frog, a toad.", "Mozart and others"],
        }
    )
    chosen = reading.choose_articles(
        articles, KEPT, STRUCTURE.wikipedia.reading.but(articles=2, words=8)
    )
    assert [one["title"] for one in chosen] == ["two", "one"]
    assert chosen[0]["words"] == ["The", "Frog", ",", "a", "toad", "."]
    assert chosen[0]["topics"] == [None, 0, None, None, 0, None]
    assert reading.names_of_topics(KEPT, chosen) == {0: "frog, toad", 1: "mozart"}


def test_attention_of_words_is_that_of_their_pieces_summed_over_keys_and_averaged_over_queries(
    tiny,
) -> None:
    model, tokenizer = load_checkpoint(tiny), load_tokenizer(tiny)
    found = reading.word_attention(model, tokenizer, WORDS)
    encoding = tokenizer.encode(WORDS, is_pretokenized=True)
    pieces, word_of = forward(model, encoding.ids).numpy(), encoding.word_ids
    layers, heads = pieces.shape[:2]
    assert found.shape == (layers, heads, len(WORDS), len(WORDS))
    for layer, head, query, key in np.ndindex(found.shape):
        asking = [place for place, word in enumerate(word_of) if word == query]
        asked = [place for place, word in enumerate(word_of) if word == key]
        slow = np.mean([sum(pieces[layer, head, a, b] for b in asked) for a in asking])
        assert found[layer, head, query, key] == pytest.approx(slow, abs=1e-6)


def test_words_behind_those_that_a_model_reads_have_no_attention(tmp_path) -> None:
    folder = save_tiny("bert", tmp_path / "short", max_position_embeddings=8)
    words = ["frog"] * 5 + ["froglet", "toad"]  # [CLS], 5, 2, 1, [SEP]
    found = reading.word_attention(load_checkpoint(folder), load_tokenizer(folder), words)
    assert found.shape[2:] == (7, 7)
    assert found[:, :, :5, :5].all() and not found[:, :, 5:].any() and not found[..., 5:].any()


def test_weights_survive_as_bytes_to_a_hundredth_of_their_root() -> None:
    weights = np.linspace(0, 1, 101)
    read = np.frombuffer(base64.b64decode(reading.stored(weights)), np.uint8)
    assert np.abs(np.sqrt(weights) - read / reading.MOST).max() <= 0.5 / reading.MOST


def test_ratios_of_heads_are_those_of_the_seed_or_of_the_only_checkpoint() -> None:
    heads = pd.DataFrame(
        [("all", 1, 1, 1.5), ("all", 1, 2, np.nan), ("3", 1, 1, 1.25), ("3", 1, 2, 2.0)],
        columns=["seed", "layer", "head", "ratio"],
    ).assign(overlap="disjoint", threshold="top 2")
    assert reading.head_ratios(heads, "3") == [[1.25, 2.0]]
    assert reading.head_ratios(heads[heads["seed"] == "all"], "3") == [[1.5, None]]


def test_no_word_of_an_article_ends_the_data(tmp_path) -> None:
    data = {"articles": [{"title": "</script><b>", "words": ["<!--", "</script>"]}]}
    text = reading.page(TEMPLATE, data)
    [kept] = re.findall(r'id="data">(.*?)</script>', text, re.DOTALL)
    assert json.loads(kept) == data and "<" not in kept


def shown(tmp_path: Path) -> Path:
    """A page of two models, one with a snapshot in which attention is uniform."""
    article = {"title": "Frogs", "words": WORDS, "topics": [0, None, None, 0]}
    uniform = np.full((1, 1, 4, 4), 0.25)
    toad = np.zeros((1, 2, 4, 4))
    toad[..., 3] = 1.0
    models = [
        {"name": name, "layers": 1, "heads": weights[-1].shape[1], "ratios": ratios, "states": [
            {"tokens": place, "attention": [reading.stored(one)]}
            for place, one in enumerate(weights)]}
        for name, ratios, weights in (
            ("trained", [[1.5]], [uniform, toad[:, :1]]), ("other", [[None, 2.0]], [toad]))
    ]  # fmt: skip
    data = {"articles": [article], "topics": {"0": "frog, toad"}, "models": models}
    path = tmp_path / "reading.html"
    path.write_text(reading.page(TEMPLATE, data), encoding="utf-8")
    return path


@pytest.mark.chromium
def test_the_page_shows_who_attends_to_whom_by_pointer_keyboard_and_slider(tmp_path) -> None:
    path = shown(tmp_path)
    with Page(tmp_path / "profile") as page:
        page.open(path)
        colours = (
            "[...document.querySelectorAll('.side')].map((side) => [...side.querySelectorAll("
            "'.words button')].map((word) => word.style.backgroundColor))"
        )
        said = "[...document.querySelectorAll('.said')].map((one) => one.textContent)"
        alpha = [[float(re.search(r"([\d.]+)\)$", c)[1]) for c in side]
                 for side in page.evaluate(colours)]  # fmt: skip
        assert alpha == [[0, 0, 0, 0.75]] * 2
        left, right = page.evaluate(said)
        assert left.startswith('"Frog" attends most to toad 100.0%') and "1.50" in left
        assert "Ratio of these heads, on average: 2.00" in right
        page.evaluate(
            "document.querySelector('.words').dispatchEvent(new KeyboardEvent('keydown', "
            "{key: 'ArrowRight', bubbles: true})), 1"
        )
        assert page.evaluate(said)[0].startswith('"," attends most to toad')
        page.evaluate(
            "(() => { const slider = document.querySelector('input[type=range]'); "
            "slider.value = 0; slider.dispatchEvent(new Event('input')); })()"
        )
        assert '"," attends most to Frog 25' in page.evaluate(said)[0]
        assert page.evaluate("document.querySelector('.side label span').textContent") == (
            "0 tokens seen"
        )
        for width in (390, 1280):
            page.command("Emulation.setDeviceMetricsOverride", width=width, height=800,
                         deviceScaleFactor=1, mobile=False)  # fmt: skip
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert page.errors == [] and page.requests == [path.as_uri()]
