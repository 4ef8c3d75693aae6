"""Attention on a text, to be looked at: the data of `results/reading.html`.

The page shows a few articles word by word. Attention between pieces is made into attention between
words as Clark et al. (2019, 'What does BERT look at?', 3) do: summed over the pieces of the word
that is attended to, averaged over the pieces of the word that attends.

Shapes: L layers, H heads, T tokens, W words.
"""

import base64
import json
import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from tokenizers import Tokenizer
from transformers import PreTrainedModel

from onelayer.text.corpus.articles import tokens
from onelayer.text.models.checkpoints import forward, longest_text
from onelayer.topic_structure.wikipedia.ratio import tightest

NAMED_BY = 4  # words that name a topic
MOST = 255  # a weight of 1, stored as one byte


def choose_articles(
    articles: pd.DataFrame, kept: pd.DataFrame, count: int, most_words: int
) -> list[dict]:
    """The articles whose beginnings have the most words of topics (of the tightest variant).

    Returns:
        For each article `title`, `words` [W] and `topics` [W], None at words without a topic.
    """
    topic_of = dict(tightest(kept)[["word", "topic"]].itertuples(index=False))
    read = []
    for article in articles.to_dict("records"):
        words = tokens(article["text"])[:most_words]
        topics = [topic_of.get(word.lower()) for word in words]
        read.append({"title": article.get("title", ""), "words": words, "topics": topics})
    read.sort(key=lambda one: sum(topic is not None for topic in one["topics"]), reverse=True)
    return read[:count]


def word_attention(
    model: PreTrainedModel, tokenizer: Tokenizer, words: Sequence[str]
) -> np.ndarray:
    """Attention from word to word, float32 [L, H, W, W]; special tokens get what a row lacks of 1.

    Words behind those that the model reads at once neither give nor get any.
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
    """Weights as base64 of bytes, each 255 times the root of a weight: small ones stay apart."""
    levels = np.rint(MOST * np.sqrt(np.clip(weights, 0, 1))).astype(np.uint8)
    return base64.b64encode(levels.tobytes()).decode()


def shown_model(
    name: str,
    model: PreTrainedModel,
    tokenizer: Tokenizer,
    heads: pd.DataFrame,
    articles: Sequence[Mapping],
) -> dict:
    """What a model pays attention to in the articles, and `heads`' ratios, for the page."""
    grid = heads.pivot(index="layer", columns="head", values="ratio").to_numpy()
    ratios = [[None if math.isnan(ratio) else round(ratio, 3) for ratio in row] for row in grid]
    weights = [stored(word_attention(model, tokenizer, one["words"])) for one in articles]
    shape = {"layers": grid.shape[0], "heads": grid.shape[1]}
    return {"name": name, "ratios": ratios, **shape, "attention": weights}


def page(
    template: str, articles: Sequence[Mapping], kept: pd.DataFrame, models: Sequence[Mapping]
) -> str:
    """The page with its data in it, escaped so that no word of an article can end it."""
    shown = {topic for article in articles for topic in article["topics"] if topic is not None}
    words = tightest(kept).groupby("topic")["word"]
    named = {int(one): ", ".join(words.get_group(one)[:NAMED_BY]) for one in sorted(shown)}
    data = {"articles": articles, "topics": named, "models": models}
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return template.replace("/*DATA*/", text.replace("<", "\\u003c"))
