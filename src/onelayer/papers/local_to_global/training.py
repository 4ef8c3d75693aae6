"""Training the paper's transformer: initialisations, variants and seeds side by side.

Runs whose parameters have the same shapes train as one ensemble. Run i of any variant sees the
sequences of seed i, so that variants differ in nothing but what they change.
"""

import logging
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from onelayer.compute.ensemble import Ensemble, Optimizer, RunRandom, Trained, train
from onelayer.compute.execution import Execution
from onelayer.errors import OnelayerError
from onelayer.papers.local_to_global import initialisation
from onelayer.papers.local_to_global.chain import Chain
from onelayer.papers.local_to_global.transformer import losses, population_losses
from onelayer.settings.local_to_global import EnsembleSettings, TrainingSettings

log = logging.getLogger("onelayer")

BETAS = (0.9, 0.95)  # of AdamW
MOMENTUM = 0.9  # of SGD
FIRST, LAST = 0.01, 0.1  # the schedule's ends, as shares of the largest learning rate
UNDECAYED = ("b", "ln_attention", "ln_mlp", "ln_final")
MATRICES = ("W_1", "W_V", "W_Q", "W_K", "W_O", "W_2")  # whose rank is followed
QUANTITIES = ("loss", *(f"{name}_share" for name in MATRICES))  # in the tables of curves
STARTS = {
    "standard": initialisation.standard,
    "rank_one": initialisation.rank_one,
    "paper": initialisation.paper,
}


class Group(NamedTuple):
    """Variants whose parameters have the same shapes, trained for equally many iterations."""

    names: list[str]
    starts: list[str]
    trainings: list[TrainingSettings]


def group(variants: Iterable[tuple[str, str, TrainingSettings]]) -> list[Group]:
    """Sort (name, initialisation, training) into groups that train as one ensemble, in order."""
    groups: dict[tuple, Group] = {}
    for variant in variants:
        t = variant[2]
        shape = (t.sequence_length, t.layer_norm, t.embedding_rows, t.iterations)
        for column, value in zip(groups.setdefault(shape, Group([], [], [])), variant, strict=True):
            column.append(value)
    return list(groups.values())


def train_group(
    group: Group,
    settings: EnsembleSettings,
    snapshots: Sequence[int] = (),
    execution: Execution = Execution(),
    first_seed: int = 0,
    also: Callable[[dict[str, Tensor], Tensor, Chain], dict[str, Tensor]] = lambda *_: {},
) -> Trained:
    """Train every variant of a group from every seed; runs are variants x seeds, seeds fastest.

    Seeds are as many as the settings say, from the first one on; the seed that follows them draws
    the held-out sequences.

    Observed after every `evaluate_every` iterations, after the last and at the snapshots: `loss`
    [R] (population loss on held-out sequences), `W_1` [R, 4d, d], `W_V` [R, d, d], and the share
    of the largest singular value of each of the `MATRICES`, `W_1_share` and so on, [R]; and what
    `also` measures of parameters, held-out sequences [R, B, T] and the chain.

    Raises:
        OnelayerError: the held-out sequences show one symbol only.
    """
    chain = Chain.of(settings.chain)
    base, variants = group.trainings[0], len(group.names)
    seeds = range(first_seed, first_seed + settings.seeds)
    random = RunRandom(seeds, execution.device)
    T, iterations = base.sequence_length, base.iterations
    unseen = RunRandom([seeds.stop], execution.device)
    unseen = unseen.uniform(settings.evaluate_on, T, use="held-out sequences")
    held_out = sequences(unseen, chain)
    if bool(held_out.all()) or not bool(held_out.any()):
        raise OnelayerError(
            f"evaluate_on = {settings.evaluate_on}: the held-out sequences of {T} inputs hold one "
            "symbol only; more or longer sequences show both"
        )

    def batch(step: int) -> Tensor:
        u = random.uniform(base.batch, T + 1, use="sequences", step=step)
        return sequences(u, chain).repeat(variants, 1, 1)

    def observe(parameters: dict[str, Tensor]) -> dict[str, Tensor]:
        x = held_out.expand(variants * settings.seeds, -1, -1)
        observed = {"loss": population_losses(parameters, x, chain)}
        observed |= {name: parameters[name] for name in ("W_1", "W_V")}
        observed |= {f"{name}_share": top_share(parameters[name]) for name in MATRICES}
        return observed | also(parameters, x, chain)

    starts = [_start(s, t, random) for s, t in zip(group.starts, group.trainings, strict=True)]
    parameters = {name: torch.cat([start[name] for start in starts]) for name in starts[0]}
    ensemble = Ensemble(
        parameters,
        batch,
        _optimizer(group.trainings, settings.seeds, parameters),
        loss=losses,
        labels=[f"{name}, seed {seed}" for name in group.names for seed in seeds],
    )
    observe_at = {*range(0, iterations, settings.evaluate_every), iterations, *snapshots}
    return train(ensemble, iterations, observe=observe, observe_at=observe_at, execution=execution)


def train_variants(
    variants: Iterable[tuple[str, str, TrainingSettings]],
    settings: EnsembleSettings,
    execution: Execution = Execution(),
    first_seed: int = 0,
) -> pd.DataFrame:
    """The `curves` of all variants (name, initialisation, training), trained group after group.

    State and finished groups stay beside the execution's checkpoint until the last group is done; a
    later start goes on from them.
    """
    parts, finished = [], []
    for number, one in enumerate(group(variants)):
        finished.append(execution.checkpoint.part(f"{number}-finished", one))
        if found := finished[-1].read():
            observed, _ = found
        else:
            log.info("training %s", ", ".join(one.names))
            alone = execution.part(number, one)
            trained = train_group(one, settings, execution=alone, first_seed=first_seed)
            observed = _curves_of(trained)
            finished[-1].write(observed, one.trainings[0].iterations)
        parts.append(_tabulate(one, observed, settings.seeds, first_seed))
    for checkpoint in finished:
        checkpoint.remove()
    return pd.concat(parts, ignore_index=True)


def sequences(u: Tensor, chain: Chain) -> Tensor:
    """Turn uniform numbers [..., T] into stationary sequences of the chain, without a loop.

    A step of the chain resets to a fixed symbol, or else keeps the symbol (p + q <= 1) or flips it
    (p + q >= 1). So a symbol is the last reset before it and the parity of the steps since.

    Returns:
        bool [..., T], True for the symbol 1.
    """
    p, q = chain.p, chain.q
    keeps = p + q <= 1
    to_one, to_zero = (p, q) if keeps else (1 - q, 1 - p)
    reset, symbol = u < to_one + to_zero, u < to_one
    # The first symbol follows the stationary law.
    reset[..., 0] = True
    symbol[..., 0] = u[..., 0] < chain.pi1
    place = torch.arange(u.shape[-1], device=u.device)
    last = torch.where(reset, place, 0).cummax(dim=-1).values
    state = symbol.gather(-1, last)
    return state if keeps else state ^ ((place - last) % 2 == 1)


def _start(name: str, training: TrainingSettings, random: RunRandom) -> dict[str, Tensor]:
    """Initial parameters of one variant, [seeds, ...]."""
    T, d = training.sequence_length, training.d
    rows = {} if training.embedding_rows == 1 else {"rows": training.embedding_rows}
    parameters = STARTS[name](random, T, d, **rows)
    if training.layer_norm:
        gain = torch.ones_like(parameters["wpe"][:, 0])
        parameters |= {key: gain.clone() for key in ("ln_attention", "ln_mlp", "ln_final")}
    return parameters


def _optimizer(
    trainings: Sequence[TrainingSettings], seeds: int, parameters: dict[str, Tensor]
) -> Optimizer:
    """One learning rate, weight decay and kind per run."""
    each, base = [training for training in trainings for _ in range(seeds)], trainings[0]
    decay = [training.weight_decay for training in each]
    return Optimizer(
        [training.optimizer for training in each],
        lr=[training.lr for training in each],
        momentum=MOMENTUM,
        beta1=BETAS[0],
        beta2=BETAS[1],
        weight_decay={name: 0.0 if name in UNDECAYED else decay for name in parameters},
        schedule=one_cycle(base.iterations, base.warm_up),
    )


def one_cycle(iterations: int, warm_up: float) -> Callable[[int], float]:
    """Cosine from 1% of the largest learning rate up to it, then cosine down to 10% of it.

    The rate rises in the share `warm_up` of the iterations.
    """
    turn = max(warm_up * iterations, 1.0)

    def factor(step: int) -> float:
        if step < turn:
            return FIRST + (1 - FIRST) * (1 - math.cos(math.pi * step / turn)) / 2
        done = min((step - turn) / max(iterations - 1 - turn, 1.0), 1.0)
        return LAST + (1 - LAST) * (1 + math.cos(math.pi * done)) / 2

    return factor


def top_share(W: Tensor) -> Tensor:
    """sigma_1^2 / sum of sigma^2 of matrices [..., rows, columns]; 1 means rank one."""
    squares = torch.linalg.svdvals(W).square()
    return squares[..., 0] / squares.sum(dim=-1)


def curves(group: Group, trained: Trained, seeds: int) -> pd.DataFrame:
    """Tidy histories: `variant`, `seed`, `iteration`, and the `QUANTITIES`."""
    return _tabulate(group, _curves_of(trained), seeds)


def _curves_of(trained: Trained) -> dict[str, Tensor]:
    """`iteration` int64 [observed], and each quantity over time [observed, R]."""
    observed = {quantity: trained.observed[quantity] for quantity in QUANTITIES}
    return {"iteration": torch.tensor(trained.observed_at)} | observed


def _tabulate(
    group: Group, observed: Mapping[str, Tensor], seeds: int, first_seed: int = 0
) -> pd.DataFrame:
    every = range(first_seed, first_seed + seeds)
    parts = []
    for run, (name, seed) in enumerate((name, seed) for name in group.names for seed in every):
        part = {"variant": name, "seed": seed, "iteration": observed["iteration"].numpy()}
        part |= {quantity: observed[quantity][:, run].double().numpy() for quantity in QUANTITIES}
        parts.append(pd.DataFrame(part))
    return pd.concat(parts, ignore_index=True)


def snapshots_of(
    group: Group, trained: Trained, iterations: Sequence[int], seeds: int
) -> dict[str, np.ndarray]:
    """`<variant>/W_1` and `<variant>/W_V` at the given iterations, [iterations, seeds, ...]."""
    rows = [trained.observed_at.index(iteration) for iteration in iterations]
    weights = {}
    for matrix in ("W_1", "W_V"):
        values = trained.observed[matrix][rows].unflatten(1, (len(group.names), seeds))
        for place, name in enumerate(group.names):
            weights[f"{name}/{matrix}"] = values[:, place].contiguous().numpy()
    return weights
