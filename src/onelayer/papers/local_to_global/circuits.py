"""Value and attention circuits of the transformer on a Markov chain, for `compute.circuits`."""

from collections.abc import Callable, Sequence

from torch import Tensor

from onelayer.compute.circuits import Model
from onelayer.compute.ensemble import RunRandom
from onelayer.papers.local_to_global import initialisation
from onelayer.papers.local_to_global.chain import Chain
from onelayer.papers.local_to_global.training import sequences
from onelayer.papers.local_to_global.transformer import losses
from onelayer.settings.circuits import FollowedChain

ATTENTION = ("W_Q", "W_K")


def model(settings: FollowedChain, device: str = "cpu") -> Model:
    """W_O W_V and W_Q^T W_K; embeddings and the ReLU layer train beside them, at values' rate."""
    chain, T = Chain.of(settings.chain), settings.sequence_length

    def batch(seeds: Sequence[int]) -> Callable[[int], Tensor]:
        random = RunRandom(seeds, device)

        def draw(step: int) -> Tensor:
            u = random.uniform(settings.batch, T + 1, use="sequences", step=step)
            return sequences(u, chain)

        return draw

    return Model(
        start=lambda seeds: initialisation.standard(RunRandom(seeds, device), T, settings.d),
        scaled=(*ATTENTION, "W_V", "W_O"),
        attention=ATTENTION,
        circuits=lambda now: (now["W_O"] @ now["W_V"], now["W_Q"].mT @ now["W_K"]),
        batch=batch,
        objective={"loss": losses},
    )
