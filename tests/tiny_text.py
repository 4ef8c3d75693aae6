"""A corpus of a few hundred made-up articles, for tests of pretraining."""

import numpy as np
from datasets import Dataset

from onelayer.settings.pretraining import PretrainingSettings, PretrainModelSettings, TextSettings
from onelayer.text.pretraining.objectives import Words
from onelayer.text.pretraining.text import encode_articles, encoded_articles, segment
from onelayer.text.pretraining.vocabulary import (
    build_vocabulary,
    predictable_pieces,
    word_level_tokenizer,
)

TOPICS = {
    "pond": ["frog", "toad", "newt", "reed", "mud", "rain"],
    "music": ["bach", "opera", "fugue", "choir", "lute", "aria"],
    "number": ["sum", "root", "prime", "proof", "set", "group"],
}
SETTINGS = PretrainingSettings.model_validate(
    {
        "corpus": "made-up",
        "text": {"min_documents": 2, "held_out_share": 0.2},
        "size": {"width": 16, "heads": 2, "factorised_width": 8, "longest": 32},
        "objective": {"generator_width": 8, "predictable_document_share": 0.5},
        "optimizer": {"learning_rate": 2e-2},
        "tokens": 3000,
        "batch_tokens": 256,
        "held_out_tokens": 512,
        "first_snapshot": 512,
    }
)


def made_up_articles(count: int = 200) -> Dataset:
    """Articles of two sentences or more, each about one topic; `the` and stops are in all."""
    rng = np.random.default_rng(0)
    texts = []
    for place in range(count):
        words = list(TOPICS.values())[place % len(TOPICS)]
        sentences = [
            "The " + " ".join(rng.choice(words, size=rng.integers(3, 7))) + "."
            for _ in range(rng.integers(2, 5))
        ]
        texts.append(" ".join(sentences))
    return Dataset.from_dict({"id": [str(i) for i in range(count)], "text": texts})


def encoded(settings: TextSettings = SETTINGS.text):
    """Vocabulary, tokenizer and encoded articles of the made-up corpus."""
    articles = made_up_articles()
    vocabulary = build_vocabulary(articles["text"], settings)
    tokenizer = word_level_tokenizer(vocabulary["piece"])
    rows = encode_articles(articles, tokenizer, settings)
    return vocabulary, tokenizer, encoded_articles(rows, vocabulary["piece"])


def task(family: str, seed: int = 0, **settings: object):
    """Settings, what objectives know of the vocabulary, training and held-out text."""
    vocabulary, _, articles = encoded()
    one: PretrainModelSettings = SETTINGS.of(family, seed).model_copy(update=settings)
    predictable = predictable_pieces(vocabulary, one.objective.predictable_document_share)
    words = Words(predictable, np.bincount(articles.ids, minlength=len(vocabulary)))
    longest = one.size.longest - 3
    return one, words, *(segment(articles, held_out, longest) for held_out in (False, True))
