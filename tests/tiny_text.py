"""A corpus of a few hundred made-up articles, for tests of pretraining."""

from pathlib import Path

import numpy as np

from onelayer.settings.models import OneTraining, PretrainingSettings
from onelayer.text.pretraining.objectives import OBJECTIVES, Objective, new_objective
from onelayer.text.pretraining.text import (
    Segments,
    build_vocabulary,
    encode_articles,
    predictable_pieces,
    read_encoded,
    segment,
    word_level_tokenizer,
    write_texts,
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
        "size": {
            "width": 16,
            "heads": 2,
            "factorised_width": 8,
            "generator_width": 8,
            "longest": 32,
        },
        "predictable_document_share": 0.5,
        "learning_rate": 2e-2,
        "tokens": dict.fromkeys(OBJECTIVES, 3000),
        "batch_tokens": 256,
        "held_out_tokens": 512,
    }
)


def made_up_articles(count: int = 200) -> list[tuple[str, str]]:
    """Ids and texts of two sentences or more, each about one topic; `the` and stops are in all."""
    rng = np.random.default_rng(0)
    articles = []
    for place in range(count):
        words = list(TOPICS.values())[place % len(TOPICS)]
        sentences = [
            "The " + " ".join(rng.choice(words, size=rng.integers(3, 7))) + "."
            for _ in range(rng.integers(2, 5))
        ]
        articles.append((str(place), " ".join(sentences)))
    return articles


def encoded(folder: Path):
    """Vocabulary, tokenizer and encoded articles of the made-up corpus; `folder` has its file."""
    articles = made_up_articles()
    vocabulary = build_vocabulary([text for _, text in articles], SETTINGS.text)
    tokenizer = word_level_tokenizer(vocabulary["piece"])
    rows = encode_articles(articles, tokenizer, SETTINGS.text.held_out_share)
    write_texts(rows, folder / "text.arrow", ["ids", "held_out"])
    return vocabulary, tokenizer, read_encoded(folder / "text.arrow", vocabulary["piece"])


def task(
    folder: Path, family: str, seed: int = 0, **changed: object
) -> tuple[OneTraining, Objective, Segments, Segments]:
    """Settings, a fresh objective, training and held-out text."""
    vocabulary, _, articles = encoded(folder)
    settings = SETTINGS.training(family, seed).model_copy(update=changed)
    predictable = predictable_pieces(vocabulary, settings.predictable_document_share)
    occurrences = np.bincount(articles.ids, minlength=len(vocabulary))
    objective = new_objective(settings, predictable, occurrences)
    texts = (segment(articles, held_out, settings.size.longest - 3) for held_out in (False, True))
    return settings, objective, *texts
