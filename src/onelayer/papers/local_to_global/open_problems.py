"""The paper's open problems, small: more states, higher order, two layers (training of them).

Each source trains from the standard start at each depth; sources of equal states and order and
equal depth are one ensemble. Run i of any of them has the random numbers of seed i.

Shapes: R runs, B sequences, T inputs; S states, k the order, C = S^k contexts of a source.
"""

import functools
from collections.abc import Sequence

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from onelayer.compute.ensemble import Ensemble, Optimizer, RunRandom, Trained, train
from onelayer.compute.execution import Execution
from onelayer.errors import OnelayerError
from onelayer.papers.local_to_global import deep_transformer
from onelayer.papers.local_to_global.sources import Source
from onelayer.papers.local_to_global.training import BETAS, one_cycle
from onelayer.settings.local_to_global import OpenProblemsSettings, SourceSettings

AT_ONCE = (
    20  # iterations whose sequences are drawn together: the loop over time is the same for all
)


def train_sources(
    settings: OpenProblemsSettings, execution: Execution = Execution()
) -> pd.DataFrame:
    """Train every source at each of its depths.

    Returns:
        `source`, `depth`, `seed`, `iteration`, `loss` (population loss, `population_losses`).
    """
    groups: dict[tuple[int, int, int], list[SourceSettings]] = {}
    for own in settings.sources:
        source = Source.of(own.transitions)
        for depth in own.depths:
            groups.setdefault((source.states, source.order, depth), []).append(own)
    parts = []
    for number, ((_, _, depth), members) in enumerate(groups.items()):
        names = [own.name for own in members]
        trained = _train_group(
            [Source.of(own.transitions) for own in members],
            names,
            depth,
            settings,
            execution.part(number, (depth, members)),
        )
        parts += _curves(trained, names, depth, settings.seeds)
    return pd.concat(parts, ignore_index=True)


def _train_group(
    sources: Sequence[Source],
    names: Sequence[str],
    depth: int,
    settings: OpenProblemsSettings,
    execution: Execution,
) -> Trained:
    """Runs are sources x seeds, seeds fastest.

    Raises:
        OnelayerError: the held-out sequences lack a context of a source.
    """
    T, B, iterations = settings.sequence_length, settings.batch, settings.iterations
    each = [source for source in sources for _ in range(settings.seeds)]
    random = RunRandom([seed for _ in sources for seed in range(settings.seeds)], execution.device)
    held_out = RunRandom([settings.seeds] * len(each), execution.device)
    held_out = draw(held_out.uniform(settings.evaluate_on, T, use="held-out sequences"), each)
    for name, source, x in zip(names, sources, held_out[:: settings.seeds], strict=True):
        if missing := set(_possible(source)) - set(contexts(x, source).unique().tolist()):
            raise OnelayerError(
                f"open_problems.evaluate_on = {settings.evaluate_on}: the held-out sequences of "
                f"{T} inputs lack {len(missing)} contexts of '{name}'; more or longer ones have all"
            )

    @functools.lru_cache(maxsize=1)
    def sequences(part: int) -> Tensor:
        u = random.uniform(AT_ONCE * B, T + 1, use="sequences", step=part)
        return draw(u, each).unflatten(1, (AT_ONCE, B))

    def batch(step: int) -> Tensor:
        return sequences(step // AT_ONCE)[:, step % AT_ONCE]

    start = deep_transformer.standard(random, T, settings.d, sources[0].states, depth)
    optimizer = Optimizer(
        "adamw",
        lr=settings.lr,
        beta1=BETAS[0],
        beta2=BETAS[1],
        schedule=one_cycle(iterations, settings.warm_up),
    )
    labels = [f"{name}, seed {seed}" for name in names for seed in range(settings.seeds)]
    ensemble = Ensemble(start, batch, optimizer, loss=deep_transformer.losses, labels=labels)
    return train(
        ensemble,
        iterations,
        observe=lambda parameters: {"loss": population_losses(parameters, held_out, each)},
        observe_at=sorted({*range(0, iterations, settings.evaluate_every), iterations}),
        execution=execution,
    )


def population_losses(
    parameters: deep_transformer.Parameters, x: Tensor, sources: Sequence[Source]
) -> Tensor:
    """The expected loss of each run, [R] (nats), estimated on inputs x, int64 [R, B, T].

    From the k-th input on, where the whole context is seen. Next symbols are averaged out by the
    source's own probabilities and contexts weighted by their stationary law, so that the best model
    of each memory has exactly its entropy, whatever sequences were drawn.
    """
    found = deep_transformer.log_probabilities(parameters, x)
    losses = []
    for run, source in enumerate(sources):
        context, possible = contexts(x[run], source), _possible(source)
        chance = torch.from_numpy(source.transitions).to(found)
        surprise = -(chance[context] * found[run, :, source.order - 1 :]).sum(-1)
        law = torch.from_numpy(source.law[possible]).to(found)
        by_context = [surprise[context == c].mean() for c in possible]
        losses.append((law * torch.stack(by_context)).sum())
    return torch.stack(losses)


def _possible(source: Source) -> list[int]:
    """The contexts that occur; rounding leaves others a law of 1e-17."""
    return np.flatnonzero(source.law > 1e-12).tolist()


def draw(u: Tensor, sources: Sequence[Source]) -> Tensor:
    """Turn uniform numbers into stationary sequences, one number per symbol.

    The first k symbols come from the stationary law of the contexts, the others from the next
    symbol's law, symbol after symbol.

    Args:
        u: uniform in [0, 1), [R, B, length].
        sources: one per run, of equal S and k.

    Returns:
        int64 [R, B, length].
    """
    S, k, C = sources[0].states, sources[0].order, len(sources[0].transitions)
    laws = torch.from_numpy(np.stack([source.law for source in sources])).to(u.device)
    steps = torch.from_numpy(np.stack([source.transitions for source in sources])).to(u.device)
    # Above the last of these bounds lies all that is left, whatever rounding makes of a sum of 1.
    bounds, first = steps.cumsum(-1)[..., :-1], laws.cumsum(-1)[:, None, :-1]
    context = (u[..., 0, None] >= first).sum(-1)
    x = torch.empty(u.shape, dtype=torch.int64, device=u.device)
    for place in range(k):
        x[..., place] = context // S ** (k - 1 - place) % S
    run = torch.arange(len(u), device=u.device)[:, None]
    for place in range(k, u.shape[-1]):
        x[..., place] = (u[..., place, None] >= bounds[run, context]).sum(-1)
        context = (context * S + x[..., place]) % C
    return x


def contexts(x: Tensor, source: Source) -> Tensor:
    """The context after every symbol from the k-th on, int64 [..., length - k + 1]."""
    S, k = source.states, source.order
    length = x.shape[-1] - k + 1
    return sum(x[..., place : place + length] * S ** (k - 1 - place) for place in range(k))


def _curves(trained: Trained, names: Sequence[str], depth: int, seeds: int) -> list[pd.DataFrame]:
    losses = trained.observed["loss"].double().numpy()
    runs = [(name, seed) for name in names for seed in range(seeds)]
    return [
        pd.DataFrame(
            {
                "source": name,
                "depth": depth,
                "seed": seed,
                "iteration": trained.observed_at,
                "loss": losses[:, run],
            }
        )
        for run, (name, seed) in enumerate(runs)
    ]
