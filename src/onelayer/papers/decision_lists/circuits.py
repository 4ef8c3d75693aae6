"""W and V of the decision lists' transformer from small random starts, for `compute.circuits`."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from onelayer.compute.circuits import Model
from onelayer.compute.seeds import generator
from onelayer.papers.decision_lists.joint import Problem, small_start
from onelayer.papers.decision_lists.model import QueryRows, evaluate
from onelayer.settings.circuits import FollowedLists
from onelayer.settings.decision_lists import ListedSize


def model(settings: FollowedLists) -> Model:
    """Every seed has lists of its own; the loss is over all sequences, so that steps are exact."""
    size = ListedSize(**settings.size.model_dump())

    def start(seeds: Sequence[int]) -> dict[str, Tensor]:
        drawn = {
            seed: small_start(generator("decision lists, circuits", seed), size.L, 1)
            for seed in dict.fromkeys(seeds)
        }
        return {
            name: torch.cat([drawn[seed][place] for seed in seeds])
            for place, name in enumerate(("W", "V"))
        }

    def batch(seeds: Sequence[int]) -> Callable[[int], list[tuple[int, QueryRows]]]:
        """Runs that share lists, and the sequences' rows; equal seeds stand together."""
        each = [(seeds.count(seed), Problem(size, seed).rows()) for seed in dict.fromkeys(seeds)]
        return lambda _: each

    def gradients(
        parameters: dict[str, Tensor], problems: list[tuple[int, QueryRows]]
    ) -> tuple[Tensor, dict[str, Tensor]]:
        counts = [count for count, _ in problems]
        parts = zip(*(parameters[name].split(counts) for name in ("W", "V")), strict=True)
        here = [evaluate(W, V, rows) for (W, V), (_, rows) in zip(parts, problems, strict=True)]
        of = {name: torch.cat([getattr(one, name) for one in here]) for name in ("W", "V")}
        return torch.cat([one.loss for one in here]), of

    return Model(
        start=start,
        scaled=("W", "V"),
        attention=("W",),
        circuits=lambda now: (now["V"], now["W"]),
        batch=batch,
        objective={"gradients": gradients},
    )
