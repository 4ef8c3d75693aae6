"""Settings of Scan and Snap (Tian, Wang, Chen & Du 2023)."""

from collections.abc import Collection
from typing import Annotated, Literal

import pydantic
from pydantic import Field

from onelayer.settings.block import Block, Computing, Name, Share, each_once

Rate = Annotated[float, Field(gt=0, le=1000)]
MaybeFrozen = Annotated[float, Field(ge=0, le=1000)]
Count = Annotated[int, Field(ge=1)]


class RateGrid(Block):
    """Rates at equal ratios."""

    low: Rate
    """The smallest."""
    high: Rate
    """The largest."""
    points: int = Field(ge=2, le=200)
    """How many (rates)."""

    @pydantic.model_validator(mode="after")
    def _check_order(self) -> "RateGrid":
        if self.low >= self.high:
            raise ValueError(
                f"low must be less than high; found {self.low:.15g} and {self.high:.15g}"
            )
        return self

    @property
    def values(self) -> list[float]:
        """The rates, ascending."""
        ratio = self.high / self.low
        return [self.low * ratio ** (k / (self.points - 1)) for k in range(self.points)]


Rates = Annotated[list[Rate], Field(min_length=1)] | RateGrid


class SimulationSettings(Computing):
    """Trainings on synthetic sequences: every combination of sizes, learning rates and seeds."""

    num_last: list[Count] = Field(min_length=1)
    """Numbers of query tokens, each its own panel."""
    next_per_last: Count
    """Next tokens, and so sequence classes, of each query token."""
    length: int = Field(ge=2, le=100_000)
    """Tokens in a sequence, the query token included (L)."""
    batch: Count
    """Sequences in a batch."""
    lr_Z: Rates
    """Learning rates of the attention logits Z: a list, or a grid."""
    lr_Y_multiplier: Annotated[list[MaybeFrozen], Field(min_length=1)] | RateGrid
    """lr_Y / lr_Z, where lr_Y is the learning rate of the decoder Y: a list, or a grid; 0, a
    decoder that is frozen at its start, in `rest` alone."""
    momentum: float = Field(ge=0, lt=1)
    """Momentum of SGD."""
    initial: Literal["zero", "uniform"]
    """Start of Y and Z: zeros, or U(-1/sqrt(M), 1/sqrt(M)), torch's default for a Linear layer."""
    seeds: int = Field(ge=2, le=10_000)
    """Seeds of data and start (runs of every setting)."""
    iterations: int = Field(ge=10)
    """Iterations of the paper's figure."""
    every: Count | None
    """Keep attention every so many iterations up to `iterations`; null: only at their end."""
    longer: Count
    """Train so many times `iterations` in all, keeping attention every half of `iterations`."""

    def rates(self, name: Literal["lr_Z", "lr_Y_multiplier"]) -> list[float]:
        """The values of a list or grid of rates."""
        rates = getattr(self, name)
        return rates.values if isinstance(rates, RateGrid) else rates

    @property
    def observed(self) -> list[int]:
        """Iterations after which attention is kept, ascending."""
        early = range(0, self.iterations + 1, self.every) if self.every else ()
        late = range(self.iterations, self.longer * self.iterations + 1, -(-self.iterations // 2))
        return sorted({*early, *late, self.iterations, self.longer * self.iterations})


class AssumptionSettings(Block):
    """The scan again with one of the paper's assumptions changed; all else as in `scan`.

    That there are no positions is changed in any case: to learned ones.
    """

    lengths: list[Annotated[int, Field(ge=2, le=100_000)]] = Field(min_length=1)
    """Tokens in a sequence, the query token included, in place of `scan.length`."""
    lr_Y_multiplier: list[Rate] = Field(min_length=1)
    """lr_Y / lr_Z, where the decoder learns slower or faster than in `scan`."""
    seeds: int = Field(ge=2, le=10_000)
    """Seeds of data and start (runs of every change)."""
    longer: int = Field(ge=2)
    """Train so many times `scan.iterations` in all, to see whether attention stays."""


class SlowSettings(Block):
    """The transition again at smaller rates, for as many more iterations; else as `transition`."""

    slower: Annotated[list[Count], Field(min_length=1), each_once()]
    """By how much the rates are divided; one set of trainings each."""
    lr_Z: list[Rate] = Field(min_length=2)
    """Learning rates of the attention logits, before they are divided."""
    lr_Y_multiplier: list[Rate] = Field(min_length=2)
    """lr_Y / lr_Z."""
    seeds: int = Field(ge=2, le=10_000)
    """Seeds of data and start (runs of every setting)."""
    iterations: Count
    """Train for those of `transition`, and this times `slower` more."""


class TextTrainingSettings(Block):
    """One way to train the language model."""

    name: Name
    """What tables and figures call it."""
    optimizer: Literal["sgd", "adam", "adamw"]
    """SGD is without momentum, as in the paper."""
    lr: Rate
    """Learning rate of everything but the two feed-forward matrices."""
    lr_feed_forward: Rate
    """Learning rate of the two feed-forward matrices."""
    positions: bool = True
    """Whether sinusoidal positions are added to the embeddings; the paper's theory has none."""
    corpus: Name | None = None
    """A corpus of `corpora` in place of the language model's; null: that one."""
    seeds: Count | None = None
    """Seeds in place of the language model's; null: those (runs)."""
    iterations: int | None = Field(None, ge=3)
    """Updates in place of the language model's; null: those."""


class LanguageModelSettings(Computing):
    """The one-layer causal transformer on real text (Fig. 7)."""

    corpus: Name
    """A corpus of `corpora`."""
    max_articles: Count | None
    """Articles used, chosen by a hash of their ids; null: all (articles)."""
    vocabulary: int = Field(ge=100, le=200_000)
    """Most frequent tokens kept; the decoder's cost grows with it (tokens)."""
    width: int = Field(ge=2, multiple_of=2)
    """Embedding size (emsize)."""
    hidden: int = Field(ge=1)
    """Hidden size of the feed-forward layer (d_hid)."""
    length: int = Field(ge=2, le=2048)
    """Tokens in a sequence (bptt)."""
    batch: Count
    """Sequences in a batch."""
    dropout: float = Field(ge=0, lt=1)
    """Share of activations dropped in training."""
    clip: float = Field(gt=0)
    """Largest norm of the gradient."""
    iterations: int = Field(ge=3)
    """Updates."""
    measure_every: Count
    """Attention on held-out text is measured every so many iterations."""
    maps_at: list[Annotated[int, Field(ge=0)]] = Field(min_length=1)
    """Iterations of the attention maps."""
    held_out_share: Share
    """Share of articles that are not trained on."""
    held_out_sequences: Count
    """Held-out sequences that attention is measured on."""
    seeds: int = Field(ge=1)
    """Seeds of start, place in the text and dropout (runs of every training)."""
    trainings: Annotated[list[TextTrainingSettings], each_once("name")] = Field(min_length=1)
    """Ways to train it, in the order of the figures' rows."""

    @pydantic.model_validator(mode="after")
    def _check_iterations(self) -> "LanguageModelSettings":
        if max(self.maps_at) > self.iterations:
            raise ValueError(
                f"maps_at must lie within iterations ({self.iterations}); found {max(self.maps_at)}"
            )
        return self

    @property
    def corpora(self) -> list[str]:
        """Corpora of the trainings, in their order, each once."""
        return list(dict.fromkeys(one.corpus or self.corpus for one in self.trainings))

    def of_the_paper(self, wikitext: Collection[str]) -> list[str]:
        """Names of the trainings that are the paper's own: by SGD, on corpora of WikiText."""
        return [
            one.name
            for one in self.trainings
            if one.optimizer == "sgd" and (one.corpus or self.corpus) in wikitext
        ]

    def of(self, name: str) -> "LanguageModelSettings":
        """One of the trainings alone, with what it has in place of the common settings."""
        training = next(one for one in self.trainings if one.name == name)
        iterations = training.iterations or self.iterations
        maps_at = [t for t in self.maps_at if t <= iterations]
        if len(maps_at) < len(self.maps_at):
            maps_at = list(dict.fromkeys([*maps_at, iterations]))
        changed = {
            "corpus": training.corpus or self.corpus,
            "seeds": training.seeds or self.seeds,
            "iterations": iterations,
            "maps_at": maps_at,
            "trainings": [training],
        }
        return self.but(**changed)

    @property
    def observed(self) -> list[int]:
        """Iterations after which attention is measured, ascending."""
        regular = range(0, self.iterations + 1, self.measure_every)
        return sorted({*regular, *self.maps_at, self.iterations})


class ScanSnapSettings(Block):
    """Scan and Snap: synthetic sweeps and real text."""

    scan: SimulationSettings
    """Attention on one class over time (Fig. 4)."""
    entropy_sweep: SimulationSettings
    """Entropy of attention against learning rates (Fig. 6)."""
    phase_map: SimulationSettings
    """The same on a fine grid of learning rates."""
    transition: SimulationSettings
    """When attention stops gathering speed, against both learning rates."""
    slow_transition: SlowSettings
    """How that time scales where learning rates are small."""
    assumptions: AssumptionSettings
    """Positions, input length and the decoder's speed, one at a time."""
    rest: SimulationSettings
    """Whether attention comes to rest, beside decoders that are slower or frozen: one size, one
    rate of attention, and several lr_Y / lr_Z, of which the largest is the one with controls."""
    language_model: LanguageModelSettings
    """Attention on real text (Fig. 7)."""

    @pydantic.model_validator(mode="after")
    def _check_sizes(self) -> "ScanSnapSettings":
        for name in ("scan", "phase_map", "transition", "rest"):
            block = getattr(self, name)
            if len(block.num_last) > 1:
                raise ValueError(f"{name}.num_last: one size; found {block.num_last}")
        for name in ("lr_Z", "lr_Y_multiplier"):
            rates = getattr(self.scan, name)
            if not isinstance(rates, list) or len(rates) > 1:
                raise ValueError(f"scan.{name}: one rate, [1.0] for example")
        for name in ("scan", "transition", "rest"):
            if (every := getattr(self, name).every) != 1:
                raise ValueError(f"{name}.every: must be 1 (its speed is measured); found {every}")
        for name in ("scan", "entropy_sweep", "phase_map", "transition"):
            if 0 in getattr(self, name).rates("lr_Y_multiplier"):
                raise ValueError(f"{name}.lr_Y_multiplier: must be above 0; only rest freezes Y")
        if len(self.rest.rates("lr_Z")) > 1 or len(set(self.rest.rates("lr_Y_multiplier"))) < 2:
            raise ValueError("rest: one lr_Z, and two or more values of lr_Y_multiplier")
        if self.rest.initial == "zero":
            raise ValueError("rest.initial: must be uniform: a decoder frozen at 0 moves nothing")
        if self.rest.longer < 2:
            raise ValueError(f"rest.longer: must be at least 2; found {self.rest.longer}")
        return self

    @property
    def changed_scan(self) -> SimulationSettings:
        """The scan, of which `assumptions` changes one at a time."""
        changed = self.assumptions.model_dump(include={"seeds", "longer"})
        return self.scan.model_copy(update=changed)
