"""Settings of the probe: what is measured on each model, and with what uncertainty."""

from pydantic import Field

from onelayer.settings.block import Block, Computing, Count, Seed

SHORTEST, LONGEST = 8, 4096  # tokens; shorter texts hold no pair of words between special tokens


class AttentionProbeSettings(Computing):
    """One forward pass per document, for all thresholds and both overlap modes."""

    documents: int = Field(ge=2)  # articles probed, drawn without replacement
    max_tokens: int = Field(ge=SHORTEST, le=LONGEST)  # articles are cut after a whole word
    seed: Seed  # of the draw of articles


class UncertaintySettings(Block):
    """Bootstrap intervals and the permutation null."""

    document_resamples: int = Field(1000, ge=100)  # bootstrap of attention ratios
    word_resamples: int = Field(200, ge=50)  # bootstrap of embedding ratios
    permutations: int = Field(200, ge=50)  # of the words' topics, the null
    frequency_bins: Count = 20  # topics are permuted among words of like frequency
    seed: Seed = 0  # of resamples and permutations


class ProbeSettings(Block):
    """Attention and embedding probes."""

    attention: AttentionProbeSettings  # the forward passes
    uncertainty: UncertaintySettings  # intervals and nulls
