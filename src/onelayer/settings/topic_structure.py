"""Settings of the topic-structure paper (Li, Li & Risteski 2023)."""

from itertools import product
from typing import Annotated, Literal

from pydantic import Field, model_validator

from onelayer.settings.block import Block, Name, Seed, Share, Title, each_once
from onelayer.settings.corpus import CorpusSettings
from onelayer.settings.models import ModelSettings
from onelayer.settings.probe import UncertaintySettings
from onelayer.settings.topic_structure_synthetic import SyntheticSettings
from onelayer.settings.topics import Backend, LdaSettings, Overlap, Threshold, Weights


class WordGroup(Block):
    """A few words that a reader takes for one topic."""

    topic: Title
    """The topic's name in the figure."""
    words: list[str] = Field(min_length=1)
    """Its words."""


class OverTokensSettings(Block):
    """The ratios against tokens seen, of models pretrained here and of series of checkpoints."""

    documents: int = Field(ge=2)
    """Articles whose attention is probed at every snapshot of a model pretrained here; a series'
    checkpoints are probed on as many as other models (documents)."""
    series: list[Name]
    """Models of `models` of source `series`."""


class HeadRemovalSettings(Block):
    """Words predicted without the heads of the largest attention ratios, and without others."""

    documents: int = Field(ge=2)
    """Articles on which the loss is measured, at most so many of those on which nothing was trained
    and nothing probed (documents)."""
    asked_share: Share
    """Share of the topic model's words of a text that are hidden and asked for."""
    heads_share: float = Field(gt=0, le=0.5)
    """Share of all heads that are removed, at least one."""
    seed: Seed
    """Seed of articles, hidden words and other heads."""


class ReadingSettings(Block):
    """The page on which attention can be seen on a text, `results/reading.html`."""

    articles: int = Field(ge=1, le=20)
    """Probed articles that it shows, those that begin with most words of topics."""
    words: int = Field(ge=8, le=64)
    """Of each the first words and punctuation marks."""
    models: Annotated[list[Name], each_once()]
    """Models that it shows, of those of the tables; where the tables have none of them, their first
    four."""


class ShownCheckpoint(Block):
    """A checkpoint whose attention can be looked at."""

    name: Name
    """Its model's."""
    seed: str
    """Whose it is; `all` where the model has one checkpoint."""
    snapshots: bool
    """Whether there are snapshots of its pretraining."""


class TopicsPerInputSettings(Block):
    """Do topics earn attention where an input has several of them? As the theory says."""

    models: Annotated[list[Name], each_once()]
    """Models of source `pretrain`; the first with one article an input is what the others of its
    family, depth and budget are compared with."""
    documents: int = Field(ge=2)
    """Inputs on which attention is probed, beside the articles of the tables (inputs)."""


class WikipediaSettings(Block):
    """The paper's experiment on Wikipedia: which corpus and which models its tables show."""

    corpus: Name
    """A corpus of `corpora`."""
    models: Annotated[list[Name], each_once()] = Field(min_length=1)
    """Models of `models`, in the order of the tables' rows."""
    word_groups: list[WordGroup] = Field(min_length=2)
    """Words of the heat map of embedding dot products, topic by topic."""
    over_tokens: OverTokensSettings
    """The ratios of pretrained models on the way."""
    head_removal: HeadRemovalSettings
    """Words predicted without some heads."""
    topics_per_input: TopicsPerInputSettings
    """Pretraining on inputs of several articles, and of topics of the topic model."""
    reading: ReadingSettings
    """Attention on a text, to be looked at."""

    @property
    def read_by(self) -> list[str]:
        """Models whose attention can be looked at."""
        return [name for name in self.reading.models if name in self.models] or self.models[:4]


Schedule = Literal["ours", "authors"]
Pooling = Literal["mean", "last layer", "largest head"]
Length = Literal["corrected", "as it is"]
# Their released code names passes (and `update_every=1`); the rest is gensim's default.
AUTHORS = {"passes": 1, "chunksize": 2000, "decay": 0.5, "offset": 1.0, "alpha": None, "eta": None}


class ChoicesSettings(Block):
    """The probe under every combination of choices that a reader could have made otherwise."""

    models: Annotated[list[Name], each_once()] = Field(min_length=1)
    """Models of `models`; of one with several checkpoints the first."""
    weights: Annotated[list[Weights], each_once()] = Field(min_length=1)
    """What the topic model is fitted to; `tf-idf` as in the authors' code."""
    schedules: Annotated[list[Schedule], each_once()] = Field(min_length=1)
    """`ours`: that of `topics.lda`; `authors`: one pass with gensim's defaults."""
    topics: Annotated[list[int], each_once()] = Field(min_length=1)
    """Numbers of topics, of those of `robustness.topics`."""
    seeds: Annotated[list[Seed], each_once()] = Field(min_length=1)
    """Seeds of the topic model, of those of `robustness.seeds`."""
    words: Annotated[list[Annotated[int, Field(ge=1)]], each_once()] = Field(min_length=1)
    """Words kept per topic (words)."""
    fractions: Annotated[list[Share], each_once()]
    """Shares f of the V words of the vocabulary: int(V f) + 1 words are kept, the authors' rule."""
    authors_words: int = Field(ge=1)
    """Words kept per topic in the authors' choice: what their rule gives at f = .0005 for the
    100,000 words that gensim's script keeps at most (words)."""
    overlaps: Annotated[list[Overlap], each_once()] = Field(min_length=1)
    """As in the ambiguity filter; the authors' code lets topics overlap."""
    pooling: Annotated[list[Pooling], each_once()] = Field(min_length=1)
    """`mean` over layers and heads, as in the paper; that of the last layer; of each pair the
    largest head of a layer, mean over layers."""
    lengths: Annotated[list[Length], each_once()] = Field(min_length=1)
    """Whether weights are multiplied by the length of the text."""
    documents: int = Field(ge=2)
    """Articles probed (documents)."""

    def fits(self) -> list[tuple[Weights, Schedule, int]]:
        """Weights, schedule and number of topics of every fit, in order; each with all seeds."""
        return list(product(self.weights, self.schedules, self.topics))

    def lda(self, lda: LdaSettings, schedule: Schedule, topics: int) -> LdaSettings:
        """The topic model `lda` of another size, by this schedule."""
        authors = AUTHORS if schedule == "authors" else {}
        return lda.model_copy(update={"topics": topics} | authors)


class RobustnessSettings(Block):
    """Do the ratios depend on the topic model? Every backend with every size and every seed.

    All else is as in `topics.lda`, `topics.words` and `probe.attention`.
    """

    corpus: Name | None
    """A corpus of `corpora`; null: the tables' own."""
    models: Annotated[list[Name], each_once()] = Field(min_length=1)
    """Models of `models`; of one with several checkpoints the first."""
    backends: Annotated[list[Backend], each_once()] = Field(min_length=1)
    """Backends of the topic model; `tomotopy` is the optional extra `onelayer[tomotopy]`."""
    topics: Annotated[list[Annotated[int, Field(ge=2, le=10_000)]], each_once()] = Field(
        min_length=1
    )
    """Numbers of topics."""
    seeds: Annotated[list[Seed], each_once()] = Field(min_length=1)
    """Seeds of each."""
    overlap: Overlap
    """`disjoint`: a word stays only in its most probable topic; `overlapping`: in several."""
    threshold: Threshold
    """How many of a topic's most probable words are kept."""
    documents: int = Field(ge=2)
    """Articles probed, the first of those that the tables draw (documents)."""
    uncertainty: UncertaintySettings
    """Intervals and nulls, once per topic model and checkpoint."""


class TopicStructureSettings(Block):
    """Topic structure: real text and synthetic documents."""

    wikipedia: WikipediaSettings
    """Probing pretrained models."""
    robustness: RobustnessSettings
    """Probing them under other topic models."""
    choices: ChoicesSettings
    """Probing them in other ways, on the corpus of `robustness`."""
    synthetic: SyntheticSettings
    """Theory beside training on documents of a topic model."""

    @model_validator(mode="after")
    def _choices_are_fitted(self) -> "TopicStructureSettings":
        for key in ("topics", "seeds"):
            fitted = getattr(self.robustness, key)
            if other := [one for one in getattr(self.choices, key) if one not in fitted]:
                raise ValueError(f"choices.{key}: {other[0]} is none of robustness.{key}, {fitted}")
        if "gensim" not in self.robustness.backends:
            raise ValueError("choices: robustness.backends has no gensim, which they need")
        return self

    @property
    def robustness_corpus(self) -> str:
        """The corpus of the topic models that are compared."""
        return self.robustness.corpus or self.wikipedia.corpus


class NamedModel(Block):
    """A model with its name, for lists in which order matters."""

    name: Name
    """Its name in `models`."""
    settings: ModelSettings
    """Its settings there."""


class NamedCorpus(Block):
    """A corpus with its name, for lists in which order matters."""

    name: Name
    """Its name in `corpora`."""
    settings: CorpusSettings
    """Its settings there."""


def by_name(blocks: list) -> dict:
    """The settings of named models or corpora by their names, in order."""
    return {block.name: block.settings for block in blocks}
