"""Training the paper's transformer: starts, variants and seeds side by side (section 4).

What has the same shapes trains as one ensemble; run i of any variant sees the sequences of seed i.
"""

import logging
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from onelayer.ensemble import Ensemble, Optimizer, RunRandom, Trained, train
from onelayer.ensemble.execution import Execution
from onelayer.local_to_global.initialisation import start
from onelayer.local_to_global.transformer import losses, population_losses
from onelayer.settings.local_to_global import MATRICES, Chain, EnsembleSettings, Variant

log = logging.getLogger("onelayer")

BETAS = (0.9, 0.95)  # of AdamW
MOMENTUM = 0.9  # of SGD
FIRST_RATE, LAST_RATE = 0.01, 0.1  # the schedule's ends, as shares of the largest learning rate
Also = Mapping[str, Callable[[dict[str, Tensor], Tensor, Chain], Tensor]]


def groups_of(variants: Iterable[Variant], settings: EnsembleSettings) -> list[list[Variant]]:
    """Sort variants of a training into groups that can train as one ensemble, in order."""
    alike = attrgetter("sequence_length", "layer_norm", "embedding_rows", "iterations")
    groups: dict[tuple, list[Variant]] = {}
    for variant in variants:
        groups.setdefault(alike(variant.applied(settings.training)), []).append(variant)
    return list(groups.values())


def train_group(
    group: Sequence[Variant],
    settings: EnsembleSettings,
    chain: Chain,
    snapshots: Sequence[int] = (),
    execution: Execution = Execution(),
    also: Also | None = None,
) -> Trained:
    """Train every variant of a group from every seed; runs are variants x seeds, seeds fastest.

    Observed every `evaluate_every` iterations, at the end and at snapshots: population `loss`, top
    shares `W_1_share`, ..., `W_1`, `W_V` [R, ...], and `also`, of parameters, held-out x and chain.
    """
    trainings = [variant.applied(settings.training) for variant in group]
    base, seeds = trainings[0], range(settings.seeds)
    T, random = base.sequence_length, RunRandom(seeds, execution.device)
    # The same whatever is trained: a use of its own, which no training draws from.
    u = RunRandom([0], execution.device).uniform(settings.evaluate_on, T, use="held-out sequences")
    held_out = sequences(u, chain)

    def batch(step: int) -> Tensor:
        u = random.uniform(base.batch, T + 1, use="sequences", step=step)
        return sequences(u, chain).repeat(len(group), 1, 1)

    def observe(parameters: dict[str, Tensor]) -> dict[str, Tensor]:
        x = held_out.expand(len(group) * settings.seeds, -1, -1)
        observed = {"loss": population_losses(parameters, x, chain)}
        observed |= {name: parameters[name] for name in ("W_1", "W_V")}
        observed |= {f"{name}_share": top_share(parameters[name]) for name in MATRICES}
        return observed | {name: of(parameters, x, chain) for name, of in (also or {}).items()}

    starts = [start(v.initialisation, t, random) for v, t in zip(group, trainings, strict=True)]
    parameters = {name: torch.cat([one[name] for one in starts]) for name in starts[0]}
    optimizer = _optimizer(trainings, settings.seeds, parameters)
    labels = [f"{variant.name}, seed {seed}" for variant in group for seed in seeds]
    ensemble, last = Ensemble(parameters, batch, optimizer, losses, labels=labels), base.iterations
    observe_at = {*range(0, last, settings.evaluate_every), last, *snapshots}
    return train(ensemble, last, observe=observe, observe_at=observe_at, execution=execution)


def train_variants(
    variants: Iterable[Variant],
    settings: EnsembleSettings,
    chain: Chain,
    execution: Execution = Execution(),
    also: Also | None = None,
) -> pd.DataFrame:
    """The `curves` of all variants, trained group after group, each with a state of its own."""
    parts = []
    for number, group in enumerate(groups_of(variants, settings)):
        log.info("training %s", ", ".join(variant.name for variant in group))
        alone = execution.part(number, group)
        trained = train_group(group, settings, chain, execution=alone, also=also)
        parts.append(curves(group, trained, settings.seeds))
    return pd.concat(parts, ignore_index=True)


def sequences(u: Tensor, chain: Chain) -> Tensor:
    """Uniform numbers [..., T] as stationary sequences of the chain, bool [..., T], without a loop.

    A step resets to a fixed symbol, or else keeps it (p + q < 1) or flips it (p + q > 1): a symbol
    is the last reset before it and the parity of the steps since.
    """
    p, q = chain.p, chain.q
    to_one, to_zero = (p, q) if chain.below else (1 - q, 1 - p)
    reset, symbol = u < to_one + to_zero, u < to_one
    # The first symbol follows the stationary law.
    reset[..., 0] = True
    symbol[..., 0] = u[..., 0] < chain.pi1
    place = torch.arange(u.shape[-1], device=u.device)
    last = torch.where(reset, place, 0).cummax(dim=-1).values
    state = symbol.gather(-1, last)
    return state if chain.below else state ^ ((place - last) % 2 == 1)


def one_cycle(iterations: int, warm_up: float) -> Callable[[int], float]:
    """Cosine from 1% of the largest rate up to it in a share `warm_up`, then down to 10% of it."""
    turn = max(warm_up * iterations, 1.0)

    def factor(step: int) -> float:
        if step < turn:
            return FIRST_RATE + (1 - FIRST_RATE) * (1 - math.cos(math.pi * step / turn)) / 2
        done = min((step - turn) / max(iterations - 1 - turn, 1.0), 1.0)
        return LAST_RATE + (1 - LAST_RATE) * (1 + math.cos(math.pi * done)) / 2

    return factor


def _optimizer(trainings: Sequence, seeds: int, parameters: dict[str, Tensor]) -> Optimizer:
    each = [training for training in trainings for _ in range(seeds)]
    decay = [training.weight_decay for training in each]
    kinds, rates = [training.optimizer for training in each], [training.lr for training in each]
    decays = {n: 0.0 if n == "b" or n.startswith("ln_") else decay for n in parameters}
    schedule = one_cycle(trainings[0].iterations, trainings[0].warm_up)
    return Optimizer(kinds, rates, MOMENTUM, *BETAS, weight_decay=decays, schedule=schedule)


def top_share(W: Tensor) -> Tensor:
    """sigma_1^2 / sum of sigma^2 of matrices [..., rows, columns]; 1 means rank one."""
    squares = torch.linalg.svdvals(W).square()
    return squares[..., 0] / squares.sum(dim=-1)


def curves(group: Sequence[Variant], trained: Trained, seeds: int) -> pd.DataFrame:
    """Tidy histories: `variant`, `seed`, `iteration`, and every observed number of a run."""
    names = [variant.name for variant in group]
    keys = {"variant": names, "seed": range(seeds), "iteration": trained.observed_at}
    index = pd.MultiIndex.from_product(keys.values(), names=keys)
    # In the order of names: a resumed training has them in another.
    observed = sorted(trained.observed.items())
    values = {n: seen.double().numpy().T.ravel() for n, seen in observed if seen.ndim == 2}
    return pd.DataFrame(values, index).reset_index()


def snapshots_of(
    group: Sequence[Variant], trained: Trained, iterations: Sequence[int], seeds: int
) -> dict[str, np.ndarray]:
    """`<variant>/W_1` and `<variant>/W_V` at the given iterations, [iterations, seeds, ...]."""
    rows, weights = [trained.observed_at.index(iteration) for iteration in iterations], {}
    for matrix in ("W_1", "W_V"):
        by_variant = trained.observed[matrix][rows].split(seeds, dim=1)
        for variant, values in zip(group, by_variant, strict=True):
            weights[f"{variant.name}/{matrix}"] = values.contiguous().numpy()
    return weights
