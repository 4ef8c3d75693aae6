"""Settings of the topic-structure paper (Li, Li & Risteski 2023)."""

from typing import Annotated

from pydantic import AfterValidator, Field

from onelayer.settings.block import Block, Name, Seed, Share, Threads, Title
from onelayer.settings.corpus import CorpusSettings
from onelayer.settings.models import ModelSettings
from onelayer.settings.probe import AttentionProbeSettings, UncertaintySettings
from onelayer.settings.topic_structure_synthetic import SyntheticSettings
from onelayer.settings.topics import AmbiguitySettings, Backend, NamedLda, Overlap, Threshold


def _each_once(values: list) -> list:
    if repeated := sorted({str(value) for value in values if values.count(value) > 1}):
        raise ValueError(f"{', '.join(repeated)} is given twice; each once")
    return values


EachOnce = AfterValidator(_each_once)


class WordGroup(Block):
    """A few words that a reader takes for one topic."""

    topic: Title
    """The topic's name in the figure."""
    words: list[str] = Field(min_length=1)
    """Its words."""


class OverTokensSettings(Block):
    """The ratios against tokens seen, of models pretrained here and of series of checkpoints."""

    documents: int = Field(200, ge=2)
    """Articles whose attention is probed at every snapshot of a model pretrained here; a series'
    checkpoints are probed on as many as other models (documents)."""
    series: list[Name] = []
    """Models of `models` of source `series`."""


class HeadRemovalSettings(Block):
    """Words predicted without the heads of the largest attention ratios, and without others."""

    documents: int = Field(60, ge=2)
    """Articles on which the loss is measured, at most so many of those on which nothing was trained
    and nothing probed (documents)."""
    asked_share: Share = 0.3
    """Share of the topic model's words of a text that are hidden and asked for."""
    heads_share: float = Field(0.25, gt=0, le=0.5)
    """Share of all heads that are removed, at least one."""
    seed: Seed = 0
    """Seed of articles, hidden words and other heads."""


class WikipediaSettings(Block):
    """The paper's experiment on Wikipedia: which corpus and which models its tables show."""

    corpus: Name
    """A corpus of `corpora`."""
    models: list[Name] = Field(min_length=1)
    """Models of `models`, in the order of the tables' rows."""
    word_groups: list[WordGroup] = Field(min_length=2)
    """Words of the heat map of embedding dot products, topic by topic."""
    over_tokens: OverTokensSettings = OverTokensSettings()
    """The ratios of pretrained models on the way."""
    head_removal: HeadRemovalSettings = HeadRemovalSettings()
    """Words predicted without some heads."""


class RobustnessSettings(Block):
    """Do the ratios depend on the topic model? Every backend with every size and every seed.

    All else is as in `topics.lda`, `topics.words` and `probe.attention`.
    """

    corpus: Name | None = None
    """A corpus of `corpora`; null: the tables' own."""
    models: Annotated[list[Name], EachOnce] = Field(min_length=1)
    """Models of `models`; of one with several checkpoints the first."""
    backends: Annotated[list[Backend], EachOnce] = Field(["gensim", "tomotopy"], min_length=1)
    """Backends of the topic model; `tomotopy` is the optional extra `onelayer[tomotopy]`."""
    topics: Annotated[list[Annotated[int, Field(ge=2, le=10_000)]], EachOnce] = Field(
        [20, 50, 100], min_length=1
    )
    """Numbers of topics."""
    seeds: Annotated[list[Seed], EachOnce] = Field([0, 1, 2], min_length=1)
    """Seeds of each."""
    overlap: Overlap = "disjoint"
    """`disjoint`: a word stays only in its most probable topic; `overlapping`: in several."""
    threshold: Threshold
    """How many of a topic's most probable words are kept."""
    documents: int = Field(500, ge=2)
    """Articles probed, the first of those that the tables draw (documents)."""
    uncertainty: UncertaintySettings = UncertaintySettings()
    """Intervals and nulls, once per topic model and checkpoint."""


class TopicStructureSettings(Block):
    """Topic structure: real text and synthetic documents."""

    wikipedia: WikipediaSettings
    """Probing pretrained models."""
    robustness: RobustnessSettings
    """Probing them under other topic models."""
    synthetic: SyntheticSettings
    """Theory beside training on documents of a topic model."""

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


class WikipediaTableSettings(Block):
    """What the tables need to know beside the measures (assembled from other blocks)."""

    models: list[NamedModel]
    """Models in the order of rows and of input files."""
    originals: list[NamedModel] = []
    """Models that the random ones among them are like."""
    ambiguity: AmbiguitySettings
    """Thresholds, with the published threshold beside which each stands."""
    overlap: Overlap = "disjoint"
    """Which of the two tables."""

    @property
    def all_models(self) -> dict[str, ModelSettings]:
        """Settings of all these models by name."""
        return {model.name: model.settings for model in [*self.originals, *self.models]}


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


class TopicSettingsTableSettings(Block):
    """What the table of compared topic models needs to know (assembled)."""

    corpus: Name
    """The corpus's name."""
    models: list[NamedLda]
    """The topic models, in the order of rows."""


class WordGroupSettings(Block):
    """Words of the heat map of embedding dot products."""

    word_groups: list[WordGroup]
    """Words, topic by topic."""
    models: list[str]
    """Name of each model, in the order of input files."""


class PretrainedTableSettings(Block):
    """What tables and figures of models pretrained here need to know."""

    models: list[NamedModel] = Field(min_length=1)
    """Models of source `pretrain` or `series`, in the order of rows and of input files."""


class FigureSettings(Block):
    """What a figure of probe measures needs to know."""

    models: list[NamedModel]
    """Models in the order of panels and of input files."""
    ambiguity: AmbiguitySettings
    """Thresholds in order."""


class TopicModelProbeSettings(Block):
    """What probing a checkpoint under many topic models needs to know (assembled)."""

    ambiguity: AmbiguitySettings
    """One overlap mode and one threshold."""
    attention: AttentionProbeSettings
    """The forward passes."""
    uncertainty: UncertaintySettings
    """Intervals and nulls."""
    threads: Threads = 1
    """torch and BLAS threads; part of what decides the numbers."""


class SeriesSettings(Block):
    """What the measures of a series of checkpoints need to know (assembled)."""

    tokens: list[int]
    """Tokens seen at each checkpoint, in the order of input files."""


class HeadRemovalMeasureSettings(Block):
    """Losses of all checkpoints of a model with heads removed (assembled)."""

    removal: HeadRemovalSettings
    """Articles, words and heads."""
    attention: AttentionProbeSettings
    """The probe that the ratios of the heads come from, whose articles are left out."""
    checkpoint_seeds: list[Seed] = []
    """Seeds of its checkpoints, in the order of input files; none of a model from elsewhere."""
    threads: Threads = 1
    """torch and BLAS threads; part of what decides the numbers."""


class HeadRemovalTableSettings(Block):
    """What the table and the figure of removed heads need to know (assembled)."""

    models: list[NamedModel]
    """Models in the order of rows and of input files."""
    removal: HeadRemovalSettings
    """Which heads were removed."""
    uncertainty: UncertaintySettings
    """Resamples of documents."""


class RobustnessTableSettings(Block):
    """What the table and the figure of topic models need to know (assembled)."""

    models: list[NamedModel]
    """Models in the order of rows and of input files."""
    robustness: RobustnessSettings
    """Backends, sizes and seeds in order, and the threshold."""
