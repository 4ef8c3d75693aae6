"""What topics tell of hidden words: the loss of a topic model's posterior beside frequencies alone.

Both read held-out inputs as a model in training does, so that its loss lies on a scale from the one
to the other: the share of topic information that it has learned. A model can pass 1, since topics
are not all there is to learn. Inputs of several articles have less of it, or none, and then there
is no share. BART, whose decoder reads the words before, has none either; of all is known how far
their loss lies below that of frequencies.

In inputs of several articles a third knows which of the words shown are of a hidden word's own
article, and goes by their topics alone. What it tells more than the posterior of all words is what
attention to the words of one's own article has to gain; in inputs of one article it is nothing.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse

from onelayer.evidence.findings import ALL
from onelayer.evidence.intervals import mean
from onelayer.settings.pretraining import PretrainModelSettings, TrainingSettings
from onelayer.settings.topics import LdaSettings
from onelayer.text.pretraining import BELOW, INFORMATION
from onelayer.text.pretraining.objectives import Objective
from onelayer.text.pretraining.quantities import OWN_BELOW, TOPICS_BELOW
from onelayer.text.pretraining.storage import read_task
from onelayer.text.pretraining.text import Segments
from onelayer.text.pretraining.training import held_out_plan
from onelayer.text.pretraining.vocabulary import MASK_ID
from onelayer.text.topics.bags import BagOfWords
from onelayer.text.topics.model import Topics
from onelayer.text.topics.online_lda import document_topics

HIDDEN = "hidden_words_loss"  # of a loss history, at every snapshot


@dataclass(frozen=True)
class KnownTopics:
    """A topic model over the pieces of a vocabulary."""

    topics: Topics
    words: pd.DataFrame  # the topic model's vocabulary, as `Bag` has it
    settings: LdaSettings  # how topics of a document are inferred
    pieces: pd.Series  # the vocabulary of the models

    @cached_property
    def place(self) -> np.ndarray:
        """Of each piece in the topic model's vocabulary, -1 where it is not in it, [pieces]."""
        return pd.Index(self.words["word"]).get_indexer(self.pieces)

    def posterior(self, ids: np.ndarray) -> np.ndarray:
        """P(topic | words of each input), [inputs, topics]; `ids` are [inputs, words]."""
        columns = self.place[ids]
        rows, _ = np.nonzero(columns >= 0)
        counts = scipy.sparse.csr_matrix(
            (np.ones(len(rows), dtype=np.int32), (rows, columns[columns >= 0])),
            shape=(len(ids), len(self.words)),
        )
        bag = BagOfWords(self.words, counts)
        return np.concatenate(list(document_topics(self.topics, bag, self.settings)))


def measure_topic_information(
    objective: Objective, text: Segments, settings: TrainingSettings, model: KnownTopics
) -> tuple[float, float, float]:
    """Losses of three that learn nothing from order, at the hidden words of held-out batches.

    Those are of a training, under its own masks (nats a hidden word). The first has the frequencies
    with which output biases start. The second, the posterior, has the same but for words of the
    topic model: how probable they are in all it leaves, and shares that out among them by the
    topics of the words that the input shows. The third goes by those alone of them that are of the
    hidden word's article; NaN where a text is of one, and of ALBERT, which may swap its halves.
    """
    losses = list(_losses(objective, text, settings, model)) or [(np.nan,) * 3]
    unigram, posterior, own = np.mean(losses, axis=0).tolist()
    return unigram, posterior, own


def _losses(
    objective: Objective, text: Segments, settings: TrainingSettings, model: KnownTopics
) -> Iterator[tuple[float, float, float]]:
    """Of every batch that hides a word, as held-out losses are means over batches."""
    log_unigram = objective.words.log_unigram().numpy().astype(np.float64)
    in_model = (model.place >= 0) & objective.words.predictable
    in_topics = np.exp(log_unigram[in_model]).sum()
    word_probability = model.topics.word_probability
    of_these = word_probability[:, model.place[in_model]].sum(axis=1)  # [topics]

    def loss(labels: np.ndarray, shares: np.ndarray) -> float:
        """Of hidden words, [hidden], each with its topics' shares, [hidden, topics]."""
        among = np.einsum("nk,kn->n", shares, word_probability[:, model.place[labels]])
        with np.errstate(divide="ignore"):  # of words without a place, which are not taken
            of_topics = np.log(in_topics * among / (shares @ of_these))
        return -np.where(in_model[labels], of_topics, log_unigram[labels]).mean()

    in_order = text.articles is not None and objective.special == 2
    for batch in held_out_plan(objective, text, settings):
        inputs = objective.inputs(text, batch)
        ids = inputs["ids"]
        hidden = ids.ravel()[inputs["positions"]] == MASK_ID
        if not hidden.any():
            continue
        rows, columns = np.divmod(inputs["positions"][hidden], ids.shape[1])
        labels = inputs["labels"][hidden]
        own = np.nan
        if in_order:
            articles = np.pad(text.articles[text.places(batch.rows)], ((0, 0), (1, 1)))
            asked = np.column_stack([rows, articles[rows, columns]])
            asked, which = np.unique(asked, axis=0, return_inverse=True)
            of_article = articles[asked[:, 0]] == asked[:, 1:]
            shown = np.where(of_article, ids[asked[:, 0]], MASK_ID)
            own = loss(labels, model.posterior(shown)[which])
        yield -log_unigram[labels].mean(), loss(labels, model.posterior(ids)[rows]), own


def unigram_loss(objective: Objective, text: Segments, settings: TrainingSettings) -> float:
    """Loss of words' frequencies at all words to predict in the held-out batches (nats a word)."""
    surprise = -objective.words.log_unigram().numpy().astype(np.float64)
    plan = held_out_plan(objective, text, settings)
    labels = (objective.inputs(text, batch)["labels"] for batch in plan)
    return float(np.mean([surprise[words].mean() for words in labels]))


def measure_learned(
    trainings: Sequence[PretrainModelSettings],
    histories: Sequence[Path],
    text: Path,
    pieces: Path,
    model: KnownTopics,
) -> pd.DataFrame:
    """How much more than frequencies some trainings of one model have learned at every snapshot.

    There is a loss history for each training; `text` and `pieces` are as `read_task` reads them.

    Returns:
        Rows `tokens`, `seed` (text; `all` for the mean over seeds with Student's 95% interval),
        `quantity`, `value`, `low`, `high`, `n`: how far the held-out loss lies below that of
        frequencies (`below_frequencies`, nats a word). Where all words to predict are behind masks,
        unlike BART's, the same of topics (`topics_below_frequencies`; below 0 they mislead), of
        those of the hidden word's article where a text is of several
        (`own_topics_below_frequencies`), and, where the former is above 0 in every training, what
        is learned as a share of it (`topic_information`).
    """
    parts: list[pd.DataFrame] = []
    topics: list[dict[str, float]] = []
    for training, history in zip(trainings, histories, strict=True):
        rows = pd.read_parquet(history)
        objective, _, held_out = read_task(text, pieces, training)
        if hidden := (rows["quantity"] == HIDDEN).any():  # alike in all of a model
            of = objective, held_out, training, model
            unigram, posterior, own = measure_topic_information(*of)
            told = {TOPICS_BELOW: unigram - posterior}
            topics.append(told if np.isnan(own) else told | {OWN_BELOW: unigram - own})
        else:
            unigram = unigram_loss(objective, held_out, training)
        rows = rows.query("split == 'held-out' and tokens > 0").sort_values("tokens")
        rows = rows[rows["quantity"] == (HIDDEN if hidden else "loss")]
        part = rows[["tokens"]].assign(**{BELOW: unigram - rows["value"]})
        parts.append(part.assign(**topics[-1]) if hidden else part)
    asked = [BELOW, *(topics[0] if topics else ())]
    if topics and min(one[TOPICS_BELOW] for one in topics) > 0:
        parts = [part.assign(**{INFORMATION: part[BELOW] / part[TOPICS_BELOW]}) for part in parts]
        asked.append(INFORMATION)
    seeds = [training.seed for training in trainings]
    return pd.DataFrame(row for quantity in asked for row in _over_seeds(seeds, parts, quantity))


def _over_seeds(
    seeds: Sequence[int], parts: Sequence[pd.DataFrame], quantity: str
) -> Iterator[dict]:
    """Rows of one quantity at every snapshot: the mean over seeds, and each of several."""
    of_seeds = (part[["tokens", quantity]].itertuples(index=False, name=None) for part in parts)
    for moment in zip(*of_seeds, strict=True):
        tokens, values = zip(*moment, strict=True)
        # Snapshots of seeds end with the batch that reaches the same number of tokens.
        common = {"tokens": sum(tokens) // len(tokens), "quantity": quantity}
        yield {**common, "seed": ALL, **mean(values)}
        for seed, value in zip(seeds, values, strict=True) if len(seeds) > 1 else ():
            yield {**common, "seed": str(seed), "value": value, "n": 1}
