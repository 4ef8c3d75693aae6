"""What topics tell of hidden words: the loss of a topic model's posterior beside frequencies alone.

Both read held-out inputs as a model in training does, so that its loss lies on a scale from the one
to the other: the share of topic information that it has learned. A model can pass 1, since topics
are not all there is to learn. Inputs of several articles have less of it, or none, and then there
is no share. BART, whose decoder reads the words before, has none either; of all is known how far
their loss lies below that of frequencies.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from operator import sub
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
from onelayer.text.pretraining.quantities import TOPICS_BELOW
from onelayer.text.pretraining.storage import read_task
from onelayer.text.pretraining.text import Segments
from onelayer.text.pretraining.training import held_out_plan
from onelayer.text.pretraining.vocabulary import MASK_ID
from onelayer.text.topics.bags import BagOfWords
from onelayer.text.topics.model import Topics
from onelayer.text.topics.online_lda import document_topics

HIDDEN = "hidden_words_loss"  # of a loss history, at every snapshot


@dataclass(frozen=True)
class TopicInformation:
    """Held-out losses of two that learn nothing from order (nats a hidden word)."""

    unigram: float
    posterior: float

    @property
    def topics(self) -> float:
        """What topics tell more than frequencies (nats a word); below 0 they mislead."""
        return self.unigram - self.posterior

    def below(self, loss: float) -> float:
        """How far a loss lies below that of frequencies (nats a word)."""
        return self.unigram - loss

    def share(self, loss: float) -> float:
        """(unigram loss - loss) / (unigram loss - loss of the posterior)."""
        return self.below(loss) / self.topics


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
) -> TopicInformation:
    """Losses at the hidden words of the held-out batches of a training, under its own masks.

    `unigram` has the frequencies with which output biases start. `posterior` is the same but for
    words of the topic model: how probable they are in all it leaves, and shares that out among them
    by the topics of the words that the input shows.
    """
    losses = list(_losses(objective, text, settings, model))
    unigram, posterior = np.mean(losses, axis=0)
    return TopicInformation(float(unigram), float(posterior))


def _losses(
    objective: Objective, text: Segments, settings: TrainingSettings, model: KnownTopics
) -> Iterator[tuple[float, float]]:
    """Of every batch, as held-out losses are means over batches."""
    log_unigram = objective.words.log_unigram().numpy().astype(np.float64)
    in_model = (model.place >= 0) & objective.words.predictable
    in_topics = np.exp(log_unigram[in_model]).sum()
    word_probability = model.topics.word_probability
    of_these = word_probability[:, model.place[in_model]].sum(axis=1)  # [topics]
    for batch in held_out_plan(objective, text, settings):
        inputs = objective.inputs(text, batch)
        hidden = inputs["ids"].ravel()[inputs["positions"]] == MASK_ID
        rows = inputs["positions"][hidden] // inputs["ids"].shape[1]
        labels = inputs["labels"][hidden]
        shares = model.posterior(inputs["ids"])[rows]  # [hidden, topics]
        among = np.einsum("nk,kn->n", shares, word_probability[:, model.place[labels]])
        with np.errstate(divide="ignore"):  # of words without a place, which are not taken
            of_topics = np.log(in_topics * among / (shares @ of_these))
        unigram = log_unigram[labels]
        yield -unigram.mean(), -np.where(in_model[labels], of_topics, unigram).mean()


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
        See `learned_over_tokens`: how far the held-out loss lies below that of frequencies
        (`below_frequencies`, nats a word). Where all words to predict are behind masks, unlike
        BART's, the same of topics (`topics_below_frequencies`), and, where that is above 0 in every
        training, the one as a share of the other (`topic_information`).
    """
    read, below, of_topics = {}, {}, {}
    for training, history in zip(trainings, histories, strict=True):
        read[training.seed] = pd.read_parquet(history)
        objective, _, held_out = read_task(text, pieces, training)
        if (read[training.seed]["quantity"] == HIDDEN).any():  # alike in all of a model
            information = measure_topic_information(objective, held_out, training, model)
            below[training.seed], of_topics[training.seed] = information.below, information
        else:
            below[training.seed] = partial(sub, unigram_loss(objective, held_out, training))
    loss, asked = HIDDEN if of_topics else "loss", {BELOW: below}
    if of_topics:
        asked[TOPICS_BELOW] = {
            seed: lambda _, one=one: one.topics for seed, one in of_topics.items()
        }
        if all(one.topics > 0 for one in of_topics.values()):
            asked[INFORMATION] = {seed: one.share for seed, one in of_topics.items()}
    parts = [learned_over_tokens(read, loss, name, of_loss) for name, of_loss in asked.items()]
    return pd.concat(parts, ignore_index=True)


def learned_over_tokens(
    histories: Mapping[int, pd.DataFrame],
    loss: str,
    quantity: str,
    of_loss: Mapping[int, Callable[[float], float]],
) -> pd.DataFrame:
    """What a held-out loss comes to at every snapshot: of each seed and their mean.

    Loss histories, and what a loss of theirs comes to, are by seed.

    Returns:
        Rows `tokens`, `seed` (text; `all` for the mean over seeds with Student's 95% interval),
        `quantity`, `value`, `low`, `high`, `n`.
    """
    held_out = {
        seed: rows[rows["quantity"] == loss].query("split == 'held-out' and tokens > 0")
        for seed, rows in histories.items()
    }
    rows = []
    in_order = (table.sort_values("tokens").itertuples() for table in held_out.values())
    for moment in zip(*in_order, strict=True):
        values = {
            seed: of_loss[seed](row.value) for seed, row in zip(held_out, moment, strict=True)
        }
        # Snapshots of seeds end with the batch that reaches the same number of tokens.
        common = {"tokens": sum(row.tokens for row in moment) // len(moment), "quantity": quantity}
        rows.append({**common, "seed": ALL, **mean([*values.values()])})
        for seed, value in values.items() if len(values) > 1 else ():
            rows.append({**common, "seed": str(seed), "value": value, "n": 1})
    return pd.DataFrame(rows)
