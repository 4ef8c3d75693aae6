"""What heads are good for: losses of masked words without those of the largest ratios, or others.

Li, Li & Risteski (2023) show that attention between words of one topic is larger. Whether a model
needs it is another question, which their probe does not ask: here the heads with the largest ratios
are taken out, and as many others, and words are predicted without them. All conditions of a
document are texts of one batch.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from tokenizers import Tokenizer

from onelayer.compute.execution import Execution
from onelayer.compute.seeds import generator
from onelayer.errors import OnelayerError
from onelayer.evidence.tables import ALL
from onelayer.papers.topic_structure.wikipedia.probe.attention import sample_articles
from onelayer.papers.topic_structure.wikipedia.probe.removals import (
    LARGEST,
    NONE,
    OTHER,
    RANDOM,
    REMOVALS,
    SAME_LAYERS,
    SAME_TOPIC,
    loosest_variant,
    without_losses,
)
from onelayer.settings.probe import AttentionProbeSettings
from onelayer.settings.topic_structure import HeadRemovalSettings
from onelayer.text.corpus.storage import at, open_rows, read_articles, read_column
from onelayer.text.models.head_switch import HeadSwitch
from onelayer.text.models.tokenizer import EncodedText, encode, piece_ids
from onelayer.text.models.word_heads import WordModel, load_word_model


def unseen_articles(
    paths: Sequence[Path],
    trained_on: Sequence[Path],
    encoded: Sequence[Path],
    attention: AttentionProbeSettings,
    settings: HeadRemovalSettings,
) -> pd.DataFrame:
    """Articles on which no ratio was measured, and which no model pretrained here was trained on.

    Args:
        trained_on: the articles of the corpus that models are pretrained on here, and
        encoded: their text as it is trained on, which says what is held out; none of either where
            no model is.
        attention: the probe whose articles are left out.

    Returns:
        As many of them as there are at most, maybe none, in the corpus's order.
    """
    probed = set(sample_articles(paths, attention)["id"])
    articles, for_training = _names(paths, paths), _names(trained_on, paths)
    seen = {name for name in articles if name[1] in probed}
    for path in encoded:
        held_out = open_rows(path).data.column("held_out").to_numpy()
        read = (name for name, out in zip(for_training, held_out, strict=True) if not out)
        seen.update(read)
    titles = {title for corpus, _, title in seen if title and not corpus}
    unseen = np.array([name not in seen and name[2] not in titles for name in articles])
    places = generator("unseen articles", settings.seed).permutation(np.flatnonzero(unseen))
    return at(read_articles(paths), np.sort(places[: settings.documents])).to_pandas()


def _names(paths: Sequence[Path], corpus: Sequence[Path]) -> list[tuple[str, str, str]]:
    """The file, id and title of each article; no file for those outside of `corpus`.

    Ids are those of a corpus. Articles of two are the same one if they have the same title, as
    `write_encoded` has it.
    """
    return [
        (str(path) if path in corpus else "", *name)
        for path in paths
        for name in zip(read_column([path], "id"), read_column([path], "title"), strict=True)
    ]


class Heads:
    """Which heads are removed: those with the largest ratios, or as many others.

    By `ratios` [layers, heads], so many that they are `share` of all, at most a half, at least one.
    """

    def __init__(self, ratios: np.ndarray, share: float) -> None:
        count = max(1, int(share * ratios.size))
        largest = np.zeros(ratios.size, dtype=bool)
        largest[np.argsort(-ratios, axis=None, kind="stable")[:count]] = True
        self.largest = largest.reshape(ratios.shape)

    def drawn(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """The largest, and others at random, each [layers, heads] bool.

        `random`: any others. `same_layers`: others of which each layer has as many as there are
        among the largest; left out where a layer has too few.
        """
        others, counts = ~self.largest, self.largest.sum(axis=1)
        anywhere = _draw(others.ravel(), counts.sum(), rng).reshape(others.shape)
        sets = {LARGEST: self.largest, RANDOM: anywhere}
        if (others.sum(axis=1) >= counts).all():
            by_layer = zip(others, counts, strict=True)
            sets[SAME_LAYERS] = np.array([_draw(*of_layer, rng) for of_layer in by_layer])
        return sets


def _draw(others: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """So many of the true ones at random, as another bool array."""
    drawn = np.zeros(len(others), dtype=bool)
    drawn[rng.choice(np.flatnonzero(others), count, replace=False)] = True
    return drawn


@dataclass(frozen=True)
class Questions:
    """A text in which words are hidden, or replaced.

    Attributes:
        ids, truth: what the model reads, and the text itself, [tokens].
        positions: words that are asked for, [words].
        targets: their ids; or whether they were replaced, [words].
        same_topic: whether another word of its topic can be seen in the text, [words] bool.
    """

    ids: list[int]
    truth: list[int]
    positions: np.ndarray
    targets: np.ndarray
    same_topic: np.ndarray


class Questioner:
    """Hides words of texts, the same for every model that reads with the same tokenizer.

    Only words of the topic model's vocabulary that are one piece of their own are asked for.

    Args:
        vocabulary: rows `word`, `occurrences`; words that may be asked for.
        topics: topics of each word that has some.
        settings: share of the words, and the seed of the draws.
        max_tokens: a text is cut after the last whole word that fits.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        vocabulary: pd.DataFrame,
        topics: Mapping[str, frozenset[int]],
        settings: HeadRemovalSettings,
        max_tokens: int,
    ) -> None:
        self.tokenizer, self.settings, self.max_tokens = tokenizer, settings, max_tokens
        pieces = piece_ids(tokenizer, vocabulary["word"])
        self._words = set(pieces)
        self.topics = {word: of for word, of in topics.items() if word in pieces}
        drawable = vocabulary[vocabulary["word"].isin(set(pieces))]
        self._pieces = np.array([pieces[word] for word in drawable["word"]])
        self._chances = (drawable["occurrences"] / drawable["occurrences"].sum()).to_numpy()

    def ask(self, document: str, text: str, mask: int | None) -> Questions | None:
        """Questions about a text; None where it holds no word that can be asked for.

        Args:
            document: the article's id; the draws depend on the seed and on it.
            mask: id of the mask; None: words are not hidden but replaced by others, drawn by their
                occurrences, and of every word it is asked whether it was. About the share of them
                that a discriminator meets in pretraining is then replaced.
        """
        encoded = encode(self.tokenizer, text, self.max_tokens)
        places = np.flatnonzero([word in self._words for word in encoded.words])
        if not len(places):
            return None
        rng = generator("asked words", self.settings.seed, document)
        draws = rng.random(len(places))
        asked = draws < self.settings.asked_share
        asked[draws.argmin()] = True
        hidden = places[asked]
        pieces = np.array(encoded.positions)
        ids, truth = np.array(encoded.ids), np.array(encoded.ids)
        if mask is None:
            ids[pieces[hidden]] = rng.choice(self._pieces, len(hidden), p=self._chances)
            of, answers = places, (ids != truth).astype(np.int64)
        else:
            ids[pieces[hidden]] = mask
            of, answers = hidden, truth
        seen = self._seen(encoded, set(hidden), of)
        positions = pieces[of]
        return Questions(ids.tolist(), truth.tolist(), positions, answers[positions], seen)

    def _seen(self, encoded: EncodedText, hidden: set[int], of: np.ndarray) -> np.ndarray:
        """Whether a different word of its topic is not hidden, of each of some words, bool."""
        visible = {word for place, word in enumerate(encoded.words) if place not in hidden}
        topics = {word: self.topics[word] for word in visible if word in self.topics}
        asked_words = [(word, self.topics.get(word, frozenset())) for word in encoded.words]
        return np.array(
            [
                any(other != word and shown & asked for other, shown in topics.items())
                for word, asked in (asked_words[place] for place in of)
            ]
        )


@dataclass(frozen=True)
class Condition:
    """How a document is read: without which heads, [layers, heads] bool, and what is there instead.

    `removal` is one of `REMOVALS`, `chosen` a key of `Heads.drawn`; both are `none` with all heads.
    """

    removal: str
    chosen: str
    heads: np.ndarray


def conditions_of(sets: Mapping[str, np.ndarray]) -> list[Condition]:
    """With all heads, and with each set removed in either way."""
    everything = Condition(NONE, NONE, np.zeros_like(sets[LARGEST]))
    removed = [Condition(how, name, heads) for how in REMOVALS for name, heads in sets.items()]
    return [everything, *removed]


def removal_losses(
    model: WordModel,
    questioner: Questioner,
    heads: Heads,
    articles: pd.DataFrame,
    progress: Callable[..., Iterable] = lambda items, **_: items,
) -> pd.DataFrame:
    """Losses of every document with all heads and without some.

    Other heads than the largest are drawn anew for every document: an interval over documents is
    one over draws, too.

    Returns:
        Rows `document`, `removal`, `chosen`, `words` (`same_topic`, `other`), `loss` (nats, summed
        over the words) and `asked` (how many).

    Raises:
        OnelayerError: the model attends in a way of its own, or no article holds a word to ask for.
    """
    switch = HeadSwitch(model.model)
    parts = []
    for document, text in progress(
        list(zip(articles["id"], articles["text"], strict=True)), unit="doc"
    ):
        questions = questioner.ask(document, text, model.mask)
        if questions is None:
            continue
        rng = generator("other heads", questioner.settings.seed, document)
        conditions = conditions_of(heads.drawn(rng))
        losses = read_without(model, switch, conditions, questions)
        keys = pd.DataFrame([{"removal": c.removal, "chosen": c.chosen} for c in conditions])
        for words, of in ((SAME_TOPIC, questions.same_topic), (OTHER, ~questions.same_topic)):
            sums = losses[:, of].sum(axis=1)
            parts.append(keys.assign(document=document, words=words, loss=sums, asked=of.sum()))
    if not parts:
        raise OnelayerError(f"none of {len(articles)} articles holds a word to ask for")
    return pd.concat(parts, ignore_index=True)


def read_without(
    model: WordModel, switch: HeadSwitch, conditions: Sequence[Condition], questions: Questions
) -> np.ndarray:
    """The loss at every asked word under every condition, [conditions, words] float64 (nats)."""
    device = model.model.device
    switch.switch_off(
        torch.from_numpy(np.stack([one.heads for one in conditions])).to(device),
        torch.tensor([one.removal == "uniform" for one in conditions], device=device),
    )
    ids, truth, positions, targets = (
        torch.as_tensor(part, dtype=torch.long, device=device)
        for part in (questions.ids, questions.truth, questions.positions, questions.targets)
    )
    with torch.inference_mode():
        losses = model.losses(ids.expand(len(conditions), -1), positions, targets, truth)
    return losses.double().cpu().numpy()


def measure_removal(
    folders: Sequence[Path],
    seeds: Sequence[int],
    articles: pd.DataFrame,
    questioner: Questioner,
    ratios: pd.DataFrame,
    execution: Execution = Execution(),
) -> pd.DataFrame:
    """`removal_losses` of every checkpoint of one model.

    Args:
        folders: of the checkpoints, which have one tokenizer.
        articles: see `unseen_articles`.
        questioner: asks with that tokenizer.
        ratios: rows of `probe.measures.measure_heads`.

    Returns:
        Rows of `removal_losses` with `seed`, `loss_of`, what the loss is, and `missing`, empty; or
        `without_losses`.
    """
    if len(articles) < 2:
        return without_losses(
            f"articles neither probed nor trained on: {len(articles)}; two are needed, so probe "
            "fewer (probe.attention.documents)"
        )
    ratios, parts, kinds = loosest_variant(ratios), [], set()
    names = map(str, seeds) if len(folders) > 1 else [ALL]
    for seed, folder in zip(names, folders, strict=True):
        model = load_word_model(folder, questioner.tokenizer, execution.device)
        if isinstance(model, str):
            return without_losses(model)
        by_head = ratios[ratios["seed"] == seed].pivot_table("ratio", "layer", "head")
        heads = Heads(by_head.to_numpy(), questioner.settings.heads_share)
        try:
            losses = removal_losses(model, questioner, heads, articles, execution.progress)
        except OnelayerError as error:
            return without_losses(str(error))
        parts.append(losses.assign(seed=seed))
        kinds.add(model.kind)
    table = pd.concat(parts, ignore_index=True)
    return table.assign(loss_of=", ".join(sorted(kinds)), missing="")
