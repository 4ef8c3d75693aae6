"""Ratios of attention where there is no topic structure to find: how often is some found?

Topics permuted among words of like frequency are no topics, whatever a model does: each permutation
is measured as if it were the topics themselves. Articles of shuffled words say what the ratios rest
on: words of random articles stand in no topic together, and words shuffled within an article keep
its topics and lose their order.

Shapes: D articles, W words, K topics, R resamples of articles, P permutations.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields

import numpy as np
import pandas as pd
from tokenizers import Tokenizer
from transformers import PreTrainedModel

from onelayer.compute.seeds import generator
from onelayer.errors import OnelayerError
from onelayer.evidence.tables import ALL
from onelayer.papers.topic_structure.wikipedia.probe import uncertainty
from onelayer.papers.topic_structure.wikipedia.probe.attention import sums_by_document
from onelayer.papers.topic_structure.wikipedia.probe.labels import (
    Variant,
    probed_words,
    tightest_variant,
)
from onelayer.papers.topic_structure.wikipedia.probe.measures import Sampled
from onelayer.papers.topic_structure.wikipedia.probe.pairs import Labels, PairSums, WordPairs
from onelayer.settings.calibration import ProbeCalibrationSettings
from onelayer.text.corpus.articles import tokens
from onelayer.text.models.tokenizer import piece_ids

AS_THEY_ARE, ACROSS, WITHIN = "as they are", "shuffled across articles", "shuffled within articles"
AT_ONCE = 100  # permutations whose resamples are in memory together


@dataclass(frozen=True, eq=False)
class PairsOfArticles(WordPairs):
    """Those of each article: `article` [rows] counted from 0, `articles` their number D."""

    article: np.ndarray
    articles: int

    def by_class(
        self, together: np.ndarray, permutation: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Sums and counts of same-topic and different-topic pairs, two [D, 2].

        Args:
            together: bool [W, W], whether two words share a topic.
            permutation: int [W]; word w takes the topics of word permutation[w].
        """
        places = permutation[self.query] * len(together) + permutation[self.key]
        other = ~together.ravel().take(places)
        code = 2 * self.article + other
        return tuple(
            np.bincount(code, column, 2 * self.articles).reshape(self.articles, 2)
            for column in (self.sums, self.counts)
        )


def pairs_of(by_document: Iterable[tuple[int, PairSums]], articles: int) -> PairsOfArticles:
    """The word pairs of every article, from the sums of each with its place."""
    places, parts = zip(*((place, one.word_pairs) for place, one in by_document), strict=True)
    columns = {
        field.name: np.concatenate([getattr(pairs, field.name) for pairs in parts])
        for field in fields(WordPairs)
    }
    rows = [len(pairs.query) for pairs in parts]
    return PairsOfArticles(**columns, article=np.repeat(places, rows), articles=articles)


def shuffled(
    texts: Sequence[str], across: bool, longest: int, rng: np.random.Generator
) -> list[str]:
    """The texts with their words, numbers and marks in random places; each as long as before.

    `across` all texts, or each within itself; of each the `longest` first words count, those that a
    model may come to read.
    """
    words = [tokens(text)[:longest] for text in texts]
    if not across:
        return [" ".join(rng.permutation(text)) for text in words]
    drawn = iter(rng.permutation([word for text in words for word in text]))
    return [" ".join(next(drawn) for _ in text) for text in words]


def calibrate(
    model: PreTrainedModel,
    tokenizer: Tokenizer,
    articles: pd.DataFrame,
    kept: pd.DataFrame,
    vocabulary: pd.DataFrame,
    settings: ProbeCalibrationSettings,
    progress: Callable[..., Iterable] = lambda items, **_: items,
) -> pd.DataFrame:
    """Ratios of one checkpoint under topics and permuted topics, in texts and shuffled texts.

    The tightest variant of `kept` is measured.

    Returns:
        Rows of `probe.measures.Sampled` with `text`, whether it is `shuffled`, whether topics are
        `permuted`, and `runs`, shuffles behind the mean: of the topics themselves those of seed
        `all` of each text; of permuted ones, in articles as they are, a row's seed is the number of
        the draw.

    Raises:
        OnelayerError: see `labels_of`; or some topics have no pair of a class.
    """
    kept = tightest_variant(kept)
    pieces = piece_ids(tokenizer, kept["word"].unique())
    (variant,), labels, frequencies = probed_words(kept, vocabulary, [pieces])
    texts = articles["text"].tolist()
    longest = settings.attention.max_tokens

    def read(these: Sequence[str]) -> PairsOfArticles:
        sums = sums_by_document(model, tokenizer, these, labels, settings.attention, progress)
        return pairs_of(sums, len(these))

    def again(across: bool) -> list[PairsOfArticles]:
        rng = generator("shuffled words", across, settings.seed)
        rounds = range(settings.texts.shuffles)
        return [read(shuffled(texts, across, longest, rng)) for _ in rounds]

    plain = read(texts)
    read_again = {AS_THEY_ARE: [plain], ACROSS: again(across=True), WITHIN: again(across=False)}
    measured = ArticleRatios(labels, variant, frequencies, settings)
    try:
        parts = [
            measured.topics(pairs).assign(text=text, permuted=False, runs=len(pairs))
            for text, pairs in read_again.items()
        ]
        permuted = measured.permuted(plain).assign(text=AS_THEY_ARE, permuted=True, runs=1)
    except ValueError as error:
        raise OnelayerError(f"calibration.texts.documents: {error}; more are needed") from None
    rows = pd.concat([*parts, permuted], ignore_index=True)
    return rows.assign(shuffled=rows["text"] != AS_THEY_ARE)


@dataclass(frozen=True, eq=False)
class ArticleRatios:
    """Measures articles under one variant of the topics, in which every word has some topic."""

    labels: Labels
    variant: Variant
    frequencies: np.ndarray
    settings: ProbeCalibrationSettings

    def topics(self, texts: Sequence[PairsOfArticles]) -> pd.DataFrame:
        """Rows of the mean over several readings of the same articles, and of its null."""
        unpermuted = np.arange(len(self.labels.words))
        drawn = self._permutations(self.settings.uncertainty.permutations, "null")
        values, replicates, null = [], [], []
        for pairs in texts:
            sums, counts = self._stacked(pairs, [unpermuted])
            values.append(_ratios(sums, counts)[0])
            replicates.append(self._resampled(sums, counts)[:, 0])
            null.append(_ratios(*self._stacked(pairs, drawn)))
        sampled = np.array(values), np.array(replicates), np.array(null)
        return pd.DataFrame(self._rows(ALL, *sampled, texts[0].articles))

    def permuted(self, pairs: PairsOfArticles) -> pd.DataFrame:
        """Rows of every draw of permuted topics, each beside a null of its own, drawn anew.

        Permutations form a group: topics that were permuted and are permuted again are distributed
        as those permuted once. The null of one draw is therefore a sample of the other draws.
        """
        drawn = self._permutations(self.settings.texts.permutations, "permuted topics")
        sums, counts = self._stacked(pairs, drawn)
        values = _ratios(sums, counts)
        rng = generator("nulls of permuted topics", self.settings.seed)
        size = min(self.settings.uncertainty.permutations, len(values) - 1)
        rows: list[dict] = []
        for first in range(0, len(values), AT_ONCE):
            some = slice(first, first + AT_ONCE)
            resampled = self._resampled(sums[..., some], counts[..., some]).T
            for draw, replicates in enumerate(resampled, start=first):
                null = rng.choice(np.delete(values, draw), size, replace=False)
                sampled = values[[draw]], replicates[None], null[None]
                rows += self._rows(str(draw), *sampled, pairs.articles)
        return pd.DataFrame(rows)

    def _rows(
        self, seed: str, values: np.ndarray, replicates: np.ndarray, null: np.ndarray, articles: int
    ) -> list[dict]:
        sampled = Sampled(self.variant, "attention_ratio", values, replicates, articles, null)
        return sampled.rows(seed, range(len(values)))

    def _permutations(self, count: int, purpose: str) -> list[np.ndarray]:
        bins = self.settings.uncertainty.frequency_bins
        strata = uncertainty.frequency_strata(self.frequencies, bins)
        rng = generator("calibration", purpose, self.settings.seed)
        return [uncertainty.permute_within(strata, rng) for _ in range(count)]

    def _stacked(
        self, pairs: PairsOfArticles, permutations: Sequence[np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Sums and counts of each permutation, two [D, 2, P]."""
        topics = self.labels.membership[0].astype(np.float32)  # exact up to 2^24 topics
        together = topics @ topics.T > 0
        by_class = [pairs.by_class(together, permutation) for permutation in permutations]
        return tuple(np.stack(column, axis=-1) for column in zip(*by_class, strict=True))

    def _resampled(self, sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Ratios with articles resampled, the same for all, [R, P]."""
        weights = uncertainty.document_weights(
            len(sums),
            self.settings.uncertainty.document_resamples,
            generator("documents", self.settings.uncertainty.seed),
        )
        return uncertainty.class_means(*uncertainty.resampled(weights, sums, counts)).ratio


def _ratios(sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Ratios over all articles, [P], of sums and counts [D, 2, P]."""
    whole = uncertainty.resampled(np.ones((1, len(sums))), sums, counts)
    return uncertainty.class_means(*whole).ratio[0]
