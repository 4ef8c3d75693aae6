"""Settings of the topic-structure paper (Li, Li & Risteski 2023)."""

from typing import Annotated, Literal

from pydantic import Field

from onelayer.settings.block import Block, Count, Name, Seed, Title, each_once
from onelayer.settings.probe import UncertaintySettings
from onelayer.settings.topic_structure_synthetic import SyntheticSettings
from onelayer.settings.topics import AmbiguitySettings, LdaSettings, Threshold

Names = Annotated[list[Name], each_once()]
# The authors' released code names passes; the rest is gensim's default.
AUTHORS = {"passes": 1, "chunksize": 2000, "decay": 0.5, "offset": 1.0}
# Its int(V f) + 1 words a topic, of the V = 100,000 of gensim's script; f: the paper's thresholds.
AUTHORS_WORDS = [Threshold(count=int(1e5 * f) + 1, beside=f) for f in (0.0005, 0.001, 0.002)]


class ReadingSettings(Block):
    """The page on which attention can be seen on a text, `results/reading.html`."""

    articles: int = Field(ge=1, le=20)  # probed articles that begin with most words of topics
    words: int = Field(ge=8, le=64)  # of each the first words and punctuation marks
    models: Names  # of the tables' models


class InputsSettings(Block):
    """Models pretrained on inputs of one and of several articles, or of drawn words."""

    models: Names  # of source `pretrain`
    documents: int = Field(ge=2)  # inputs probed, beside the articles of the tables


class TopicsBy(Block):
    """Topics that are fitted to compare with ours: what is not said is as in `topics.lda`."""

    backend: Literal["gensim", "tomotopy"] = "gensim"
    weights: Literal["counts", "tf-idf"] = "counts"  # what topics are fitted to
    schedule: Literal["ours", "authors"] = "ours"  # `authors`: one pass with gensim's defaults
    topics: Count | None = None  # of the topic model; null: as in `topics.lda`
    seed: Seed = 0  # of the topic model

    def lda(self, ours: LdaSettings) -> LdaSettings:
        """The topic model."""
        changes = {"backend": self.backend, "seed": self.seed}
        changes |= {"topics": self.topics} if self.topics else {}
        return ours.model_copy(update=changes | (AUTHORS if self.schedule == "authors" else {}))

    def fit(self, ours: LdaSettings) -> str:
        """A name for the topic model, the same for all that share it."""
        topics = self.topics or ours.topics
        return f"{self.backend}-{self.weights}-{self.schedule}-{topics}-{self.seed}"


class AuthorsWay(TopicsBy):
    """Topics as in the authors' released code: of gensim's tf-idf matrix of Wikipedia, one pass."""

    weights: Literal["tf-idf"] = "tf-idf"
    schedule: Literal["authors"] = "authors"


class WikipediaSettings(Block):
    """The paper's experiment on Wikipedia: which corpus and which models its tables show."""

    corpus: Name  # of `corpora`
    models: Names = Field(min_length=1)  # of `models`, in the order of the tables' rows
    authors: AuthorsWay  # whose rows stand first, with `AUTHORS_WORDS` a topic
    inputs: InputsSettings
    reading: ReadingSettings


class Way(TopicsBy):
    """One way to probe: what is not said is as in the second rows of the tables."""

    name: Title
    words: Count = 20  # most probable words kept of each topic
    overlap: Literal["disjoint", "overlapping"] = "disjoint"
    pooling: Literal["mean", "last layer", "largest head"] = "mean"  # of heads and layers
    length: Literal["corrected", "as it is"] = "corrected"  # weights times the text's length?

    def ambiguity(self) -> AmbiguitySettings:
        """The ambiguity filter of this way."""
        return AmbiguitySettings(overlaps=[self.overlap], thresholds=[Threshold(count=self.words)])


class SensitivitySettings(Block):
    """Do the ratios depend on how they are measured? One choice changed per way."""

    corpus: Name | None = None  # of `corpora`; null: that of the tables
    models: Names = Field(min_length=1)  # of one with several checkpoints the first
    documents: int = Field(ge=2)  # articles probed
    uncertainty: UncertaintySettings  # intervals and nulls of every way
    ways: Annotated[list[Way], each_once("name")] = Field(min_length=1)


class TopicStructureSettings(Block):
    """Topic structure: real text and synthetic documents."""

    wikipedia: WikipediaSettings  # probing pretrained models
    sensitivity: SensitivitySettings  # probing them in other ways
    synthetic: SyntheticSettings  # theory beside training on documents of a topic model
