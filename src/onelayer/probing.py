"""A model of one's own under the topic probe: the public function `onelayer.probe_topic_structure`.

The probe is that of Li, Li & Risteski (2023), as the workflow applies it to its corpora and models.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

import pandas as pd
from tokenizers import Tokenizer
from transformers import PreTrainedModel

from onelayer.errors import OnelayerError
from onelayer.papers.topic_structure.wikipedia.probe.attention import probe_attention
from onelayer.papers.topic_structure.wikipedia.probe.embeddings import extract_embeddings
from onelayer.papers.topic_structure.wikipedia.probe.labels import check_words, probed_words
from onelayer.papers.topic_structure.wikipedia.probe.measures import (
    measure_attention,
    measure_embeddings,
)
from onelayer.settings.probe import LONGEST, SHORTEST, AttentionProbeSettings, UncertaintySettings
from onelayer.text.models.architecture import longest_text
from onelayer.text.models.tokenizer import piece_ids
from onelayer.text.topics.bag_of_words import list_words


def probe_topic_structure(
    model: PreTrainedModel,
    tokenizer: Tokenizer,
    texts: Sequence[str],
    topics: Mapping[str, Iterable[str]] | pd.DataFrame,
    *,
    max_tokens: int = 128,
    uncertainty: UncertaintySettings | None = None,
    progress: Callable[..., Iterable] = lambda items, **_: items,
) -> pd.DataFrame:
    """Whether words of one topic attend to each other more, and have more similar embeddings.

    Args:
        model, tokenizer: as `onelayer.load_checkpoint` and `onelayer.load_tokenizer` load them from
            a folder.
        texts: at least two; the model reads each once.
        topics: words of each topic by its name; or the words that a run kept,
            `results/topics/<corpus>/kept_words.parquet` (`overlap`, `threshold`, `topic`, `word`).
            A word that is several pieces in the tokenizer is left out; of words that are one and
            the same piece the alphabetically first is taken. Give a dozen words a topic or so:
            resampled words must hold pairs of one topic and of two.
        max_tokens: texts are cut after the last whole word that fits (tokens, special ones
            included).
        uncertainty: resamples of texts and words, permutations of the topics, their seed; None:
            those of the settings' defaults.
        progress: wraps long loops in a progress bar.

    Returns:
        One row per quantity (and `overlap` and `threshold`): `quantity`, `value`, its 95% interval
        `low`, `high` over texts or words, `n` texts or words. `attention_ratio` and
        `embedding_cosine_ratio` are same-topic over different-topic; `_null` is what permuted
        topics give, `_null_corrected` the ratio over it, `_z` its distance in standard deviations
        of the null. docs/tables.md lists the others.

    Raises:
        OnelayerError: fewer than two texts or two topics; so few words of them are one piece that
            there is no pair of one topic, or of two; no text has two of the words; the model gives
            no attention or cannot read `max_tokens`. One line that names the argument.
    """
    uncertainty = UncertaintySettings() if uncertainty is None else uncertainty
    _check_types(model, tokenizer, uncertainty)
    texts = _checked_texts(texts)
    longest = min(longest_text(model), LONGEST)
    if not isinstance(max_tokens, int) or not SHORTEST <= max_tokens <= longest:
        who = "the probe" if longest == LONGEST else "this model"
        raise OnelayerError(
            f"max_tokens: {max_tokens!r}; a whole number is needed, from {SHORTEST} to the "
            f"{longest} tokens that {who} reads"
        )
    kept = _kept_words(topics)
    try:
        pieces = piece_ids(tokenizer, kept["word"].unique())
        occurrences = _occurrences(texts, list(pieces))
        variants, labels, frequencies = probed_words(kept, occurrences, [pieces])
        check_words(labels, kept)
        articles = pd.DataFrame({"id": [str(place) for place in range(len(texts))], "text": texts})
        cut = AttentionProbeSettings(
            documents=len(texts), parts=1, max_tokens=max_tokens, reference_length=100, seed=0
        )
        sums = probe_attention(model, tokenizer, articles, labels, variants, cut, progress)
        vectors = extract_embeddings(model, tokenizer, labels.words).of(labels.words)
        measures = [
            measure_attention([sums], labels, frequencies, uncertainty),
            measure_embeddings([vectors], variants, labels, frequencies, uncertainty, progress),
        ]
    except OnelayerError as error:  # names of a run's settings mean nothing here
        raise OnelayerError(_WITHOUT_KEYS.sub("", str(error))) from None
    return pd.concat(measures, ignore_index=True).drop(columns="seed")


_WITHOUT_KEYS = re.compile(
    r"^topics\.ambiguity: threshold |; name the model in topics\S+| \(topics\.[^)]*\)"
)
_COLUMNS = ["overlap", "threshold", "topic", "word"]


def _check_types(model: object, tokenizer: object, uncertainty: object) -> None:
    for name, value, wanted in (
        ("model", model, PreTrainedModel),
        ("tokenizer", tokenizer, Tokenizer),
        ("uncertainty", uncertainty, UncertaintySettings),
    ):
        if not isinstance(value, wanted):
            needed, given = f"{wanted.__module__}.{wanted.__qualname__}", type(value).__name__
            raise OnelayerError(f"{name}: {needed} is needed, found {given}")


def _checked_texts(texts: Iterable[str]) -> list[str]:
    if isinstance(texts, str | bytes):
        raise OnelayerError("texts: one text was given; a list of at least 2 is needed")
    if not isinstance(texts, Iterable):
        raise OnelayerError(f"texts: a list of texts is needed, found {type(texts).__name__}")
    texts = list(texts)
    if wrong := [text for text in texts if not isinstance(text, str)]:
        raise OnelayerError(f"texts: a list of texts is needed, found {type(wrong[0]).__name__}")
    if len(texts) < 2:
        raise OnelayerError(f"texts: {len(texts)}; at least 2 are needed for an interval")
    return texts


def _kept_words(topics: Mapping[str, Iterable[str]] | pd.DataFrame) -> pd.DataFrame:
    """Topics in the form of the ambiguity filter's table, in which a run's words are already."""
    if isinstance(topics, pd.DataFrame):
        if missing := ", ".join(name for name in _COLUMNS if name not in topics):
            there = ", ".join(map(str, topics))
            raise OnelayerError(f"topics: no column {missing}; its columns: {there}")
        if not pd.api.types.is_integer_dtype(topics["topic"]) or (topics["topic"] < 0).any():
            raise OnelayerError("topics: column topic needs whole numbers from 0")
        return _checked_words(topics)
    if not isinstance(topics, Mapping):
        given = type(topics).__name__
        raise OnelayerError(f"topics: words by topic, or a table, are needed, found {given}")
    for name, words in topics.items():
        if isinstance(words, str) or not isinstance(words, Iterable):
            given = "one word was given" if isinstance(words, str) else f"{words!r} was given"
            raise OnelayerError(f"topics: {name}: {given}; a list of words is needed")
    if len(topics) < 2:
        named = ", ".join(map(str, topics)) or "none"
        raise OnelayerError(f"topics: {named}; at least 2 are needed")
    words = [(place, word) for place, words in enumerate(topics.values()) for word in words]
    kept = _checked_words(pd.DataFrame(words, columns=["topic", "word"]))
    kept = kept.assign(word=kept["word"].str.lower()).drop_duplicates(ignore_index=True)
    kept["overlap"] = "overlapping" if kept["word"].duplicated().any() else "disjoint"
    return kept.assign(threshold="given")


def _checked_words(kept: pd.DataFrame) -> pd.DataFrame:
    if wrong := [word for word in kept["word"] if not isinstance(word, str)]:
        raise OnelayerError(f"topics: {wrong[0]!r} is no text; words are needed")
    if kept.empty:
        raise OnelayerError("topics: none of them has a word")
    return kept


def _occurrences(texts: Sequence[str], words: Sequence[str]) -> pd.DataFrame:
    """How often the texts use each of the words, as the bag of words counts them."""
    counted = {use.word: use.occurrences for use in list_words(texts, min_letters=1)}
    return pd.DataFrame({"word": words, "occurrences": [counted.get(word, 0) for word in words]})
