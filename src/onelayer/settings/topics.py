"""Settings of topics: words, topic model, ambiguity filter."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, model_validator

from onelayer.settings.block import Block, Name, Positive, Seed, Share, Threads, Title, each_once

Overlap = Literal["disjoint", "overlapping"]
Backend = Literal["gensim", "tomotopy"]
Weights = Literal["counts", "tf-idf"]


class WordSettings(Block):
    """Which words of the corpus the topic model sees."""

    min_letters: int = Field(ge=1)
    """Shortest word (letters)."""
    min_documents: int = Field(ge=1)
    """A word must occur in at least this many articles."""
    max_document_share: Share
    """A word must occur in at most this share of the articles."""
    max_words: Annotated[int, Field(ge=1)] | None
    """Keep those that occur in the most articles (words); null: all."""
    single_piece_in: list[Name]
    """Models whose tokenizer must hold each word as exactly one piece; any other model is measured
    on those words that are one piece in its own."""


class LdaSettings(Block):
    """Latent Dirichlet allocation by a seeded backend."""

    backend: Backend
    """`gensim`: online variational Bayes (Hoffman, Blei & Bach 2010), float64; `tomotopy`:
    collapsed Gibbs sampling (the optional extra `onelayer[tomotopy]`)."""
    topics: int = Field(ge=2, le=10_000)
    """Number of topics."""
    alpha: Positive | None
    """Symmetric Dirichlet prior of a document's topics; null: 1 / topics."""
    eta: Positive | None
    """Symmetric Dirichlet prior of a topic's words; null: 1 / topics."""
    passes: int = Field(ge=1)
    """Passes over the corpus (the paper: 6); gensim."""
    chunksize: int = Field(ge=1)
    """Documents per update; gensim."""
    decay: float = Field(ge=0.5, le=1)
    """kappa: how fast old updates are forgotten; gensim."""
    offset: float = Field(gt=0)
    """tau_0: how much early updates are slowed down (updates); gensim."""
    iterations: int = Field(ge=1)
    """Most E-step iterations per document; gensim, and document topics of both backends."""
    sweeps: int = Field(ge=1)
    """Sweeps of the sampler over the corpus; tomotopy."""
    seed: Seed
    """Seed of the initial topics, and of the sampler."""
    workers: Threads
    """Processes that fit and measure it together; the numbers are the same for any; gensim."""

    @property
    def priors(self) -> tuple[float, float]:
        """Alpha and eta as numbers."""
        return self.alpha or 1 / self.topics, self.eta or 1 / self.topics


class NamedLda(LdaSettings):
    """One of several topic models whose coherence is compared."""

    model_config = ConfigDict(json_schema_extra={"required": ["name"]})  # the rest is that of `lda`

    name: Title
    """What the table calls it."""


class Threshold(Block):
    """How many of a topic's most probable words are kept: a count or a share of all words."""

    count: Annotated[int, Field(ge=1)] | None = None
    """Words kept per topic (words)."""
    fraction: Share | None = None
    """Words kept per topic as a share of the vocabulary (the paper: .0005, .001, .002)."""
    beside: Share | None = None
    """Published threshold beside which the numbers are set; default: `fraction` itself."""

    @model_validator(mode="after")
    def _one_of_two(self) -> "Threshold":
        if (self.count is None) == (self.fraction is None):
            raise ValueError("give either count or fraction, not both and not neither")
        return self

    @property
    def label(self) -> str:
        """The threshold as tables and figures name it: `top 50` or `0.001`."""
        return f"top {self.count}" if self.count else f"{self.fraction:.15g}"

    @property
    def published(self) -> float | None:
        """The published threshold that stands beside this one."""
        return self.beside or self.fraction

    def words_kept(self, vocabulary: int) -> int:
        """Words kept per topic, for a vocabulary of so many words; may be 0 for a fraction."""
        return self.count or int(self.fraction * vocabulary)


class AmbiguitySettings(Block):
    """Li, Li & Risteski (2023), 'Ambiguity filtering'."""

    overlaps: list[Overlap] = Field(min_length=1)
    """`disjoint`: a word stays only in its most probable topic; `overlapping`: in several."""
    thresholds: Annotated[list[Threshold], each_once("label")] = Field(min_length=1)
    """One or more thresholds, tightest first."""


class TopicSettings(Block):
    """From articles to topics with unambiguous words."""

    words: WordSettings
    """The vocabulary."""
    lda: LdaSettings
    """The topic model."""
    held_out_seeds: Annotated[list[Seed], each_once()] = Field(min_length=1)
    """Seeds: of each a random half of the articles, to which the topic model is fitted once more;
    its topics are judged by how coherent they are in the other half."""
    compared: list[NamedLda]
    """Other topic models judged in the same way, in a table of their own; what one does not say is
    as in `lda`."""
    ambiguity: AmbiguitySettings
    """The ambiguity filter."""
    top_words: int = Field(ge=2, le=100)
    """Words per topic in tables, in the figure and in NPMI (words)."""

    @model_validator(mode="before")
    @classmethod
    def _compared_change_lda(cls, values: object) -> object:
        match values:
            case {"lda": {**lda}, "compared": [*models]}:
                changed = [lda | one if isinstance(one, dict) else one for one in models]
                return values | {"compared": changed}
        return values
