"""Attention on a text, to be looked at: the data of `results/reading.html`.

The page shows a few articles word by word. Attention between pieces is made into attention between
words as Clark et al. (2019, 'What does BERT look at?', 3) do: summed over the pieces of the word
that is attended to, averaged over the pieces of the word that attends.

Shapes: L layers, H heads, T tokens, W words.
"""

import base64
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from tokenizers import Tokenizer
from transformers import PreTrainedModel

from onelayer.papers.topic_structure.wikipedia.probe.labels import tightest_variant
from onelayer.settings.topic_structure import ReadingSettings, ShownCheckpoint
from onelayer.text.corpus.articles import tokens
from onelayer.text.models.architecture import longest_text
from onelayer.text.models.checkpoints import forward, load_checkpoint
from onelayer.text.models.tokenizer import load_tokenizer
from onelayer.text.pretraining.storage import read_snapshots

NAMED_BY = 4  # words that name a topic
MOST = 255  # a weight of 1, stored as one byte


def choose_articles(
    articles: pd.DataFrame, kept: pd.DataFrame, settings: ReadingSettings
) -> list[dict]:
    """The articles whose beginnings have the most words of topics, with each word's topic.

    Args:
        kept: the table of `onelayer.text.topics.ambiguity`; its tightest variant is shown.

    Returns:
        For each article `title`, `words` [W] and `topics` [W], None at words without a topic.
    """
    topic_of = dict(tightest_variant(kept)[["word", "topic"]].itertuples(index=False))
    articles_read = []
    for article in articles.to_dict("records"):
        words = tokens(article["text"])[: settings.words]
        topics = [topic_of.get(word.lower()) for word in words]
        articles_read.append({"title": article["title"], "words": words, "topics": topics})
    articles_read.sort(
        key=lambda one: sum(topic is not None for topic in one["topics"]), reverse=True
    )
    return articles_read[: settings.articles]


def names_of_topics(kept: pd.DataFrame, articles: Sequence[Mapping]) -> dict[int, str]:
    """The first words of every topic that a word of the articles has."""
    shown = {topic for article in articles for topic in article["topics"] if topic is not None}
    by_topic = tightest_variant(kept).groupby("topic")["word"]
    return {topic: ", ".join(by_topic.get_group(topic)[:NAMED_BY]) for topic in sorted(shown)}


def word_attention(
    model: PreTrainedModel, tokenizer: Tokenizer, words: Sequence[str]
) -> np.ndarray:
    """Attention from word to word, float32 [L, H, W, W]; special tokens get what a row lacks of 1.

    Words behind those that the model reads at once neither give nor get any.

    Args:
        words: as `onelayer.text.corpus.articles.tokens` splits them.
    """
    longest, read = longest_text(model), len(words)
    encoding = tokenizer.encode(list(words), is_pretokenized=True)
    while len(encoding.ids) > longest:
        read -= 1
        encoding = tokenizer.encode(list(words[:read]), is_pretokenized=True)
    weights = forward(model, encoding.ids).cpu().numpy()
    pieces = np.zeros((len(encoding.ids), len(words)), dtype=np.float32)
    for place, word in enumerate(encoding.word_ids):
        if word is not None:
            pieces[place, word] = 1
    return (pieces / np.maximum(pieces.sum(axis=0), 1)).T @ weights @ pieces


def stored(weights: np.ndarray) -> str:
    """Weights between 0 and 1 as text: base64 of bytes, each 255 times the root of a weight.

    The root keeps small weights apart: uniform attention over 40 words is 40 of 255, not 6.
    """
    levels = np.rint(MOST * np.sqrt(np.clip(weights, 0, 1))).astype(np.uint8)
    return base64.b64encode(levels.tobytes()).decode()


def shown_models(
    by: Sequence[ShownCheckpoint],
    folders: Sequence[Path],
    heads: Sequence[pd.DataFrame],
    snapshots: Iterable[Path],
    articles: Sequence[Mapping],
    device: str = "cpu",
) -> Iterator[dict]:
    """What models pay attention to in the articles, at each of their snapshots or as they are.

    Args:
        folders, heads: checkpoint, and rows of `probe.measures.measure_heads`, of each.
        snapshots: of the pretraining of those that have some.

    Yields:
        Of each `name`, `ratios` (`head_ratios`), `layers` and `heads`, and under `states` for each
        `tokens` (seen; None without snapshots) and `attention`: for each article [L, H, W, W],
        `stored`.
    """
    files = iter(snapshots)
    for one, folder, of_heads in zip(by, folders, heads, strict=True):
        tokenizer, states, shape = load_tokenizer(folder), [], (0, 0)
        at_hand = (
            read_snapshots(folder, next(files), device)
            if one.snapshots
            else [(None, load_checkpoint(folder, device))]
        )
        for seen, model in at_hand:
            weights = [word_attention(model, tokenizer, article["words"]) for article in articles]
            shape = weights[0].shape[:2]
            states.append({"tokens": seen, "attention": [stored(one) for one in weights]})
        ratios, size = head_ratios(of_heads, one.seed), {"layers": shape[0], "heads": shape[1]}
        yield {"name": one.name, "ratios": ratios, **size, "states": states}


def head_ratios(heads: pd.DataFrame, seed: str) -> list[list[float | None]]:
    """Same-topic over different-topic attention of every head, [L][H]; None where there is none.

    Args:
        heads: rows of `probe.measures.measure_heads`.
        seed: whose; a model with one checkpoint has only `all`.
    """
    chosen = tightest_variant(heads)
    chosen = chosen[chosen["seed"] == (seed if (chosen["seed"] == seed).any() else "all")]
    grid = chosen.pivot(index="layer", columns="head", values="ratio").to_numpy()
    return [[None if math.isnan(ratio) else round(ratio, 3) for ratio in row] for row in grid]


def page(template: str, data: Mapping[str, object]) -> str:
    """The page with its data in it, escaped so that no word of an article can end it."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return template.replace("/*DATA*/", text.replace("<", "\\u003c"))
