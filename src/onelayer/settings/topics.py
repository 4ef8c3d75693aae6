"""Settings of topics: words, topic model, ambiguity filter."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from onelayer.settings.block import Block, Count, Name, Positive, Seed, Share, each_once

Weights = Literal["counts", "tf-idf"]
AUTHORS_TOPICS = "*-tf-idf-authors-*.safetensors"  # the topic models that are fitted their way


class WordSettings(Block):
    """Which words of the corpus the topic model sees."""

    min_letters: Count
    min_documents: Count  # a word must occur in at least so many articles
    max_document_share: Share  # and in at most this share of them
    max_words: Count | None  # keep those in the most articles; null: all
    single_piece_in: list[Name]  # models whose tokenizers hold each word as exactly one piece


class LdaSettings(Block):
    """Latent Dirichlet allocation by a seeded backend; both Dirichlet priors are 1 / topics."""

    backend: Literal["gensim", "tomotopy"]  # online variational Bayes, collapsed Gibbs sampling
    topics: int = Field(ge=2, le=10_000)
    passes: Count  # over the corpus (the paper: 6); gensim
    chunksize: Count  # documents per update; gensim
    decay: float = Field(ge=0.5, le=1)  # kappa: how fast old updates are forgotten; gensim
    offset: Positive  # tau_0: how much early updates are slowed down (updates); gensim
    sweeps: Count  # of the sampler over the corpus; tomotopy
    seed: Seed


class Threshold(Block):
    """How many of a topic's most probable words are kept: a count or a share of all words."""

    count: Count | None = None  # words a topic
    fraction: Share | None = None  # of the vocabulary (the paper: .0005, .001, .002)
    beside: Share | None = None  # the published one beside it (nominal); null: `fraction` itself

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if (self.count is None) == (self.fraction is None):
            raise ValueError("give either count or fraction, not both and not neither")
        return self

    @property
    def label(self) -> str:
        """The threshold as tables name it: `top 50` or `0.001`."""
        return f"top {self.count}" if self.count else f"{self.fraction:.15g}"

    @property
    def published(self) -> float | None:
        """The published threshold that stands beside this one."""
        return self.beside or self.fraction


class AmbiguitySettings(Block):
    """Li, Li & Risteski (2023), 'Ambiguity filtering'; thresholds stand tightest first."""

    # disjoint: a word stays only in its most probable topic; overlapping: in several.
    overlaps: Annotated[list[Literal["disjoint", "overlapping"]], each_once(), Field(min_length=1)]
    thresholds: Annotated[list[Threshold], each_once("label"), Field(min_length=1)]


class TopicSettings(Block):
    """From articles to topics with unambiguous words."""

    words: WordSettings
    lda: LdaSettings
    # Each draws half of the articles, in which topics that are fitted to the other half are judged.
    held_out_seeds: Annotated[list[Seed], each_once(), Field(min_length=1)]
    ambiguity: AmbiguitySettings
