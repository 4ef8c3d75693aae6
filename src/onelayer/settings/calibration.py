"""Settings of calibration: are the rule and the intervals right? What is expected stands here.

Written before anything was measured; the table says what came of it.
"""

from typing import Annotated

from pydantic import Field

from onelayer.settings.block import Block, Seed
from onelayer.settings.probe import ProbeSettings

Runs = Annotated[int, Field(ge=2, le=1000)]
Documents = Annotated[int, Field(ge=10, le=100_000)]


class TextCalibration(Block):
    """Ratios of attention where there is no topic: of permuted topics, and of shuffled words.

    Of the models in the Wikipedia tables: the first from elsewhere and the first pretrained here,
    of each the first checkpoint; under the first threshold and overlap mode.
    """

    documents: int = Field(ge=2)
    """Articles, the first of those that the tables draw (documents)."""
    permutations: int = Field(ge=100)
    """How often topics are permuted among words of like frequency and judged as if they were
    topics. Expected: at most 5% of the verdicts say that there is an effect, as the permuted topics
    come from the null's own distribution. Refuted by more than that, its interval considered. All
    others are undecided where the null alone spreads over more than a tenth of the published effect
    (MiniLM), and negligible where it does not (a small model)."""
    shuffles: int = Field(ge=2, le=100)
    """How often all words are shuffled across articles, and the words of each within it. Expected:
    a model that reads what words mean (MiniLM) keeps most of its ratio where only their order is
    lost, and a part even where articles are bags of random words; this is refuted where the
    interval lies within a tenth of the published effect. A small model shows nothing before and
    nothing after."""


class IntervalCalibration(Block):
    """Simulated seeds and documents: do 95% intervals cover the truth in 95% of the cases?"""

    trials: int = Field(ge=100)
    """Data sets of each kind; the share that is covered is known to .01 (trials)."""
    seeds: list[Runs] = Field(min_length=1)
    """Seeds in a data set. Expected: of normal ones 95%; of skewed ones fewer (88 to 92%), for
    Student's interval knows nothing of skewness. Shares: more than 95%, by their construction."""
    documents: list[Documents] = Field(min_length=1)
    """Documents in a data set. Expected: 93 to 97% from 100 documents on, fewer for 30 skewed
    ones."""
    resamples: int = Field(ge=100)
    """Of the documents of each data set (resamples)."""
    spreads: list[Annotated[float, Field(ge=0)]] = Field(min_length=1)
    """Standard deviation of a seed's effect, in standard errors of the mean over documents.
    Expected: where both are alike the interval errs on the wide side (96 to 98%)."""
    shares: list[Annotated[float, Field(gt=0, lt=1)]] = Field(min_length=1)
    """True shares of successes."""


class EffectCalibration(Block):
    """Simulated effects under the rule: how often does each verdict come out?"""

    trials: int = Field(ge=100)
    """Data sets of each kind (trials)."""
    effects: list[float] = Field(min_length=1)
    """True effects, in published ones. Expected: of 0 at most 5% of the verdicts say that there is
    an effect, and of 1 at most 5% that it is another."""
    half_widths: list[Annotated[float, Field(gt=0)]] = Field(min_length=1)
    """Half of the ideal 95% interval, in published effects. Expected: 0 is called negligible at
    .05, and undecided at .5; .3 is called reproduced in every fourth case at .5, which the rule
    allows: the interval reaches the published effect and leaves out 'no effect'."""
    documents: Documents
    """Documents of each data set; half of the variance is theirs, half of it the seeds'."""


class CalibrationSettings(Block):
    """Whether intervals and verdicts are right, measured where the truth is known."""

    texts: TextCalibration
    """Real models, no topics."""
    intervals: IntervalCalibration
    """Coverage."""
    effects: EffectCalibration
    """Verdicts."""
    seed: Seed
    """Seed of all permutations, shuffles and simulations."""


class ProbeCalibrationSettings(ProbeSettings):
    """What the calibration of one checkpoint needs to know, beside how it is probed."""

    texts: TextCalibration
    """Permutations and shuffles."""
    seed: Seed
    """Of permutations and shuffles."""
