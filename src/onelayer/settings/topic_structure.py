"""Settings of the topic-structure paper (Li, Li & Risteski 2023)."""

from pydantic import Field

from onelayer.settings.block import Block, Name
from onelayer.settings.corpus import CorpusSettings
from onelayer.settings.models import ModelSettings
from onelayer.settings.topics import AmbiguitySettings, Overlap


class WordGroup(Block):
    """A few words that a reader takes for one topic."""

    topic: str
    """The topic's name in the figure."""
    words: list[str] = Field(min_length=1)
    """Its words."""


class WikipediaSettings(Block):
    """The paper's experiment on Wikipedia: which corpus and which models its tables show."""

    corpus: Name
    """A corpus of `corpora`."""
    models: list[Name] = Field(min_length=1)
    """Models of `models`, in the order of the tables' rows."""
    word_groups: list[WordGroup] = Field(min_length=2)
    """Words of the heat map of embedding dot products, topic by topic."""


class TopicStructureSettings(Block):
    """Topic structure: real text."""

    wikipedia: WikipediaSettings
    """Probing pretrained models."""


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


class WikipediaTableSettings(Block):
    """What the tables need to know beside the measures (assembled from other blocks)."""

    models: list[NamedModel]
    """Models in the order of rows and of input files."""
    ambiguity: AmbiguitySettings
    """Thresholds, with the published threshold beside which each stands."""
    overlap: Overlap = "disjoint"
    """Which of the two tables."""


class CorporaTableSettings(Block):
    """What the table of corpora needs to know."""

    corpora: list[NamedCorpus]
    """Corpora in the order of rows and of input files."""


class TopicTableSettings(Block):
    """What the tables and the figure of topics need to know."""

    corpus: Name
    """The corpus's name."""
    top_words: int = Field(ge=2)
    """Words shown per topic (words)."""


class WordGroupSettings(Block):
    """Words of the heat map of embedding dot products."""

    word_groups: list[WordGroup]
    """Words, topic by topic."""
    models: list[str]
    """Name of each model, in the order of input files."""


class FigureSettings(Block):
    """What a figure of probe measures needs to know."""

    models: list[NamedModel]
    """Models in the order of panels and of input files."""
    ambiguity: AmbiguitySettings
    """Thresholds in order."""
