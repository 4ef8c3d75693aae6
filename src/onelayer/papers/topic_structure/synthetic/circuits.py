"""The single-layer transformer with W_V and the attention logits apart, for `compute.circuits`."""

from collections.abc import Sequence
from functools import partial

from torch import Tensor

from onelayer.compute.circuits import Model
from onelayer.compute.ensemble import RunRandom
from onelayer.papers.topic_structure.synthetic.data import draw
from onelayer.papers.topic_structure.synthetic.model import attention_logits, gradients
from onelayer.papers.topic_structure.synthetic.training import DocumentBatches, initial_parameters
from onelayer.settings.circuits import FollowedTopics

MATRICES = ("W_K", "W_Q", "W_V")


def model(settings: FollowedTopics, device: str = "cpu") -> Model:
    """One-hot embeddings and cross-entropy; b is 0 and stays so, as in the authors' code."""
    rows = draw(
        settings.model, settings.documents, settings.N, "values and attention", tau=settings.tau
    )

    def start(seeds: Sequence[int]) -> dict[str, Tensor]:
        made = initial_parameters(RunRandom(seeds, device), "one_hot", rows.keys.shape[1])
        return {name: made[name] for name in MATRICES}

    return Model(
        start=start,
        scaled=MATRICES,
        attention=("W_K", "W_Q"),
        circuits=lambda now: (now["W_V"], attention_logits(now, "one_hot")),
        batch=lambda seeds: DocumentBatches(rows, seeds, settings.batch, device),
        objective={"gradients": partial(gradients, embedding="one_hot", loss="cross_entropy")},
    )
