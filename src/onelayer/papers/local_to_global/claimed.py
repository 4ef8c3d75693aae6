"""What the paper claims that a transformer learns, and when one counts as having learnt it.

Theorem 2: small starts, the standard and the rank-one one, reach the global minimum (the bigram
model) for p + q < 1 and a local one (the unigram model) for p + q > 1. The paper's start lies far
out at w < -1/sqrt 2, in the other basin: figure 4 has it reach the bigram model for p + q > 1.
"""

from onelayer.evidence.verdicts import FLOAT32, TENTH, Number
from onelayer.papers.local_to_global.chain import Chain
from onelayer.settings.local_to_global import AUTHORS_CHAIN, TrainingSettings

UNIGRAM, BIGRAM = "unigram", "bigram"
_LOGITS = {UNIGRAM: 1, BIGRAM: 2}  # that a model has to estimate


def claimed_model(start: str, chain: Chain) -> str:
    """Which model a start is claimed to learn on a chain: `UNIGRAM` or `BIGRAM`.

    Args:
        start: `onelayer.settings.local_to_global.Initialisation`.
        chain: with p + q other than 1.
    """
    below = chain.p + chain.q < 1
    return BIGRAM if below == (start != "paper") else UNIGRAM


def entropy(model: str, chain: Chain) -> float:
    """The loss of a model (nats)."""
    return chain.unigram_entropy if model == UNIGRAM else chain.bigram_entropy


def close(chain: Chain) -> float:
    """How near to an entropy a loss counts as at it: a tenth of their distance (nats)."""
    return TENTH * (chain.unigram_entropy - chain.bigram_entropy)


def kind_of(training: TrainingSettings, chain: Chain) -> str:
    """Whether a trained transformer is the authors' own object, or an analogue."""
    own = training.authors and {"p": chain.p, "q": chain.q} == AUTHORS_CHAIN
    return "claim" if own else "analogue"


def compared_loss(model: str, chain: Chain, kind: str) -> Number:
    """With what a final loss is compared: the claimed entropy; no effect is the other one."""
    other = BIGRAM if model == UNIGRAM else UNIGRAM
    return Number(entropy(other, chain), kind=kind, relative=FLOAT32)


def excess_loss(training: TrainingSettings, model: str) -> float:
    """A loss this near to the optimum is as good as it for one batch (nats): 1 / (2 N) a logit.

    A logit that is estimated from N symbols, those of a batch, has the variance 1 / (N p (1 - p)),
    and costs half of that times p (1 - p) more than the best one, in expectation.
    """
    return _LOGITS[model] / (2 * training.batch * training.sequence_length)
