"""Settings of Scan and Snap (Tian, Wang, Chen & Du 2023)."""

from typing import Annotated, Literal

import pydantic
from pydantic import Field

from onelayer.settings.block import Block, Computing, Count, Name, Positive, Share, each_once

Rates = Annotated[list[Positive], Field(min_length=1), each_once()]
Ratios = Annotated[list[Annotated[float, Field(ge=0)]], Field(min_length=1), each_once()]
Counts = Annotated[list[Count], Field(min_length=1), each_once()]


class SimulationSettings(Block):
    """Trainings on synthetic sequences: every combination of sizes, learning rates and seeds."""

    num_last: Counts  # query tokens; one a panel
    next_per_last: Count  # next tokens, and so sequence classes, of each query token
    length: int = Field(ge=2, le=100_000)  # tokens in a sequence, the query token included (L)
    batch: Count  # sequences in a batch
    lr_Z: Rates  # of the attention logits Z
    lr_Y_multiplier: Ratios  # lr_Y / lr_Z, lr_Y of the decoder Y; 0, in `rest` alone, freezes it
    momentum: float = Field(ge=0, lt=1)  # of SGD
    initial: Literal["zero", "uniform"]  # Y and Z: 0, or U(-1/sqrt(M), 1/sqrt(M)) as torch's Linear
    seeds: int = Field(ge=2, le=10_000)  # of data and start: runs of every setting
    iterations: int = Field(ge=15)  # of the paper's figure
    every: Count | None  # keep attention so often up to `iterations`; null: only at their end
    longer: Count  # train so many times `iterations`, keeping attention every half of `iterations`

    @property
    def observed(self) -> list[int]:
        """Iterations after which attention is kept, ascending."""
        early = range(0, self.iterations + 1, self.every) if self.every else ()
        late = range(self.iterations, self.longer * self.iterations + 1, -(-self.iterations // 2))
        return sorted({*early, *late, self.longer * self.iterations})


class TransitionSettings(SimulationSettings):
    """The phase transition at ever smaller rates, for as many more iterations."""

    slower: Counts  # what both rates are divided by
    iterations_slower: Count  # train for `iterations`, and this times `slower` more

    def at(self, slower: int) -> "TransitionSettings":
        """Those at rates divided by `slower`, looked at every `slower` / 64 iterations."""
        changed = {"lr_Z": [rate / slower for rate in self.lr_Z], "every": -(-slower // 64)}
        changed["iterations"] = self.iterations + slower * self.iterations_slower
        return self.model_copy(update=changed)


class TextTrainingSettings(Block):
    """One way to train the language model; what is null is as in `language_model`."""

    name: Name  # in tables and figures
    optimizer: Literal["sgd", "adam", "adamw"]  # SGD is without momentum, as in the paper
    lr: Positive  # of everything but the two feed-forward matrices
    lr_feed_forward: Positive  # of those two
    positions: bool = True  # sinusoidal ones; the paper's theory has none
    corpus: Name | None = None
    seeds: Count | None = None
    iterations: int | None = Field(None, ge=3)


class LanguageModelSettings(Computing):
    """The one-layer causal transformer on real text (Fig. 7)."""

    corpus: Name  # of `corpora`
    max_articles: Count | None  # chosen by a hash of their ids; null: all
    vocabulary: int = Field(ge=100, le=200_000)  # most frequent tokens, all others one
    width: int = Field(ge=2, multiple_of=2)  # of the embedding (emsize)
    hidden: Count  # of the feed-forward layer (d_hid)
    length: int = Field(ge=2, le=2048)  # tokens in a sequence (bptt)
    batch: Count  # sequences in a batch
    dropout: float = Field(ge=0, lt=1)
    clip: Positive  # largest norm of the gradient
    iterations: int = Field(ge=3)  # updates
    measure_every: Count  # attention on held-out text is measured every so many iterations
    held_out_share: Share  # of the articles
    held_out_sequences: Count  # that attention is measured on
    seeds: Count  # of start, place in the text and dropout: runs of every training
    trainings: Annotated[list[TextTrainingSettings], each_once("name")] = Field(min_length=1)

    def of(self, name: str) -> "LanguageModelSettings":
        """One of the trainings alone, with what it has in place of the common settings."""
        [training] = [one for one in self.trainings if one.name == name]
        changes = training.model_dump(include={"corpus", "seeds", "iterations"}, exclude_none=True)
        return self.model_copy(update=changes | {"trainings": [training]})


class ScanSnapSettings(Block):
    """Scan and Snap: synthetic sweeps and real text."""

    scan: SimulationSettings  # attention of one class over time (Fig. 4)
    rest: SimulationSettings  # the same beside decoders that are slower or frozen
    entropy_sweep: SimulationSettings  # entropy of attention by learning rates (Fig. 6)
    transition: TransitionSettings  # when attention stops gathering speed, by both learning rates
    language_model: LanguageModelSettings  # attention on real text (Fig. 7)

    @pydantic.model_validator(mode="after")
    def _check_simulations(self) -> "ScanSnapSettings":
        for name in ("scan", "rest", "transition", "entropy_sweep"):
            block = getattr(self, name)
            if name != "entropy_sweep" and (len(block.num_last) > 1 or block.every != 1):
                raise ValueError(f"{name}: one num_last, and every 1, because speed is measured")
            if name in ("scan", "rest") and (len(block.lr_Z) > 1 or block.longer < 2):
                raise ValueError(f"{name}: one lr_Z, and longer of at least 2")
            if name != "rest" and 0 in block.lr_Y_multiplier:
                raise ValueError(f"{name}.lr_Y_multiplier: above 0; only rest freezes Y")
        return self
