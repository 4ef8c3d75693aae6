"""Settings of the probe: what is measured on each model, and with what uncertainty."""

from pydantic import Field, model_validator

from onelayer.settings.block import Block, Computing, Seed, Threaded, part_names

SHORTEST, LONGEST = 8, 4096  # tokens; shorter texts hold no pair of words between special tokens


class AttentionProbeSettings(Computing):
    """One forward pass per document; all thresholds and both overlap modes at once."""

    documents: int = Field(ge=2)
    """Articles probed, drawn without replacement (documents)."""
    parts: int = Field(ge=1, le=9999)
    """Probe them in so many parts, each by a job of its own."""
    max_tokens: int = Field(ge=SHORTEST, le=LONGEST)
    """Articles are cut after the last whole word that fits (tokens, special ones included)."""
    reference_length: int = Field(ge=1)
    """Weights are multiplied by length / this, so that documents of any length compare (tokens)."""
    seed: Seed
    """Seed of the draw of articles."""

    @model_validator(mode="after")
    def _two_documents_in_every_part(self) -> "AttentionProbeSettings":
        if self.parts > 1 and 2 * self.parts > self.documents:
            raise ValueError(
                f"parts: {self.parts} parts of {self.documents} documents; at least two in each"
            )
        return self

    def of(self, documents: int, **changes: int) -> "AttentionProbeSettings":
        """The same for so many documents, probed at once."""
        return self.model_copy(update={"documents": documents, "parts": 1} | changes)

    def part_names(self) -> list[str]:
        """Names of the parts, in order; none if the documents are probed at once."""
        return part_names(self.parts)


class UncertaintySettings(Threaded):
    """Bootstrap intervals and the permutation null."""

    document_resamples: int = Field(1000, ge=100)
    """Document bootstrap of the attention ratios (resamples)."""
    word_resamples: int = Field(200, ge=50)
    """Word bootstrap of the embedding ratios (resamples)."""
    permutations: int = Field(200, ge=50)
    """Permutations of the words' topics within frequency strata (permutations)."""
    frequency_bins: int = Field(20, ge=1)
    """Frequency strata within which topics are permuted (bins)."""
    seed: Seed = 0
    """Seed of resamples and permutations."""


class ProbeSettings(Block):
    """Attention and embedding probes."""

    attention: AttentionProbeSettings
    """The forward passes."""
    uncertainty: UncertaintySettings
    """Intervals and nulls."""
