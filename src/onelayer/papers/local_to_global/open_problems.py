"""The paper's open problems, small: more states, higher order, two layers (model and training).

The model is the paper's (one head, no biases in linear maps, no LayerNorm, ReLU, 4 d hidden units,
tied logits) with a row of the embedding per state and any number of blocks: z_t = E[x_t] + p_t, and
after attention and MLP of every block the logits E z + b. Each source trains from the standard
start at each depth; sources of equal states and order and equal depth are one ensemble. Run i of
any of them has the random numbers of seed i.

Shapes: R runs, B sequences, T inputs, d dimensions, D blocks; S states, k the order, C = S^k
contexts of a source. Parameters by name, [R, ...]: `rows` [S, d], `wpe` [T, d], `b` [S], and of all
blocks `W_Q`, `W_K`, `W_V`, `W_O` [D, d, d], `W_1` [D, 4d, d], `W_2` [D, d, 4d].
"""

import functools
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from torch.nn import functional

from onelayer.compute.ensemble import Ensemble, Optimizer, RunRandom, Trained, train
from onelayer.compute.execution import Execution
from onelayer.errors import OnelayerError
from onelayer.papers.local_to_global import initialisation
from onelayer.papers.local_to_global.chain import MarkovSource
from onelayer.papers.local_to_global.schedule import one_cycle
from onelayer.papers.local_to_global.training import BETAS
from onelayer.settings.local_to_global import (
    INDEPENDENT,
    OpenProblemsSettings,
    SourceSettings,
)

Parameters = Mapping[str, Tensor]
# Iterations whose sequences are drawn together: the loop over time is the same for all.
AT_ONCE = 20


def log_probabilities(parameters: Parameters, x: Tensor) -> Tensor:
    """Log-probabilities of the next symbol, [R, B, T, S], for inputs x, int64 [R, B, T]."""
    run = torch.arange(len(x), device=x.device)[:, None, None]
    z = parameters["rows"][run, x] + parameters["wpe"][:, None]
    for block in range(parameters["W_Q"].shape[1]):
        W = {n: p[:, block, None].mT for n, p in parameters.items() if n.startswith("W_")}
        q, k, v = (z @ W[name] for name in ("W_Q", "W_K", "W_V"))
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        z = z + mixed @ W["W_O"]
        z = z + functional.relu(z @ W["W_1"]) @ W["W_2"]
    logits = z @ parameters["rows"][:, None].mT + parameters["b"][:, None, None]
    return logits.log_softmax(dim=-1)


def losses(parameters: Parameters, x: Tensor) -> Tensor:
    """Mean cross-entropy of the next symbol, [R] (nats); x is int64 [R, B, T + 1]."""
    chances = log_probabilities(parameters, x[..., :-1])
    return -chances.gather(-1, x[..., 1:, None]).mean(dim=(1, 2, 3))


def train_sources(
    settings: OpenProblemsSettings, execution: Execution = Execution()
) -> pd.DataFrame:
    """Train every source at each of its depths.

    Returns:
        `source`, `depth`, `seed`, `iteration`, `loss` (population loss, `population_losses`).

    Raises:
        OnelayerError: nothing of a source is told by what came before, or the held-out sequences
            lack a context.
    """
    groups: dict[tuple[int, int, int], list[SourceSettings]] = {}
    for one in settings.sources:
        source = MarkovSource.of(one.transitions)
        if source.entropy(0) - source.entropy(source.order) < INDEPENDENT:
            raise OnelayerError(
                f"open_problems.sources: '{one.name}': the symbols before tell nothing of the "
                "next, so that there is no way from the unigram to the best entropy"
            )
        for depth in one.depths:
            groups.setdefault((source.states, source.order, depth), []).append(one)
    parts = []
    for number, ((_, _, depth), members) in enumerate(groups.items()):
        trained = _train_group(members, depth, settings, execution.part(number, (depth, members)))
        keys = {"source": [one.name for one in members], "depth": [depth]}
        keys |= {"seed": range(settings.seeds), "iteration": trained.observed_at}
        index = pd.MultiIndex.from_product(keys.values(), names=keys)
        losses = trained.observed["loss"].double().numpy().T.ravel()
        parts.append(pd.DataFrame({"loss": losses}, index))
    return pd.concat(parts).reset_index()


def _train_group(
    members: Sequence[SourceSettings],
    depth: int,
    settings: OpenProblemsSettings,
    execution: Execution,
) -> Trained:
    """Runs are sources x seeds, seeds fastest.

    Raises:
        OnelayerError: the held-out sequences lack a context of a source.
    """
    T, B, iterations = settings.sequence_length, settings.batch, settings.iterations
    sources, seeds = [MarkovSource.of(one.transitions) for one in members], range(settings.seeds)
    each = [source for source in sources for _ in seeds]
    random = RunRandom([*seeds] * len(sources), execution.device)
    held_out = RunRandom([settings.seeds] * len(each), execution.device)
    held_out = draw(held_out.uniform(settings.evaluate_on, T, use="held-out sequences"), each)
    for one, source, x in zip(members, sources, held_out[:: settings.seeds], strict=True):
        if missing := set(_possible(source)) - set(contexts(x, source).unique().tolist()):
            raise OnelayerError(
                f"open_problems.evaluate_on = {settings.evaluate_on}: the held-out sequences of "
                f"{T} inputs lack {len(missing)} contexts of '{one.name}'; more or longer ones "
                "have all"
            )

    @functools.lru_cache(maxsize=1)
    def sequences(part: int) -> Tensor:
        u = random.uniform(AT_ONCE * B, T + 1, use="sequences", step=part)
        return draw(u, each).unflatten(1, (AT_ONCE, B))

    schedule = one_cycle(iterations, settings.warm_up)
    ensemble = Ensemble(
        initialisation.standard(random, T, settings.d, sources[0].states, depth),
        lambda step: sequences(step // AT_ONCE)[:, step % AT_ONCE],
        Optimizer("adamw", lr=settings.lr, beta1=BETAS[0], beta2=BETAS[1], schedule=schedule),
        loss=losses,
        labels=[f"{one.name}, seed {seed}" for one in members for seed in seeds],
    )
    return train(
        ensemble,
        iterations,
        observe=lambda parameters: {"loss": population_losses(parameters, held_out, each)},
        observe_at={*range(0, iterations, settings.evaluate_every), iterations},
        execution=execution,
    )


def population_losses(parameters: Parameters, x: Tensor, sources: Sequence[MarkovSource]) -> Tensor:
    """The expected loss of each run, [R] (nats), estimated on inputs x, int64 [R, B, T].

    From the k-th input on, where the whole context is seen. Next symbols are averaged out by the
    source's own probabilities and contexts weighted by their stationary law, so that the best model
    of each memory has exactly its entropy, whatever sequences were drawn.
    """
    predicted = log_probabilities(parameters, x)
    expected = []
    for run, source in enumerate(sources):
        context, possible = contexts(x[run], source), _possible(source)
        chance = torch.from_numpy(source.transitions).to(predicted)
        surprise = -(chance[context] * predicted[run, :, source.order - 1 :]).sum(-1)
        law = torch.from_numpy(source.law[possible]).to(predicted)
        by_context = [surprise[context == c].mean() for c in possible]
        expected.append((law * torch.stack(by_context)).sum())
    return torch.stack(expected)


def _possible(source: MarkovSource) -> list[int]:
    """The contexts that occur; rounding leaves others a law of 1e-17."""
    return np.flatnonzero(source.law > 1e-12).tolist()


def draw(u: Tensor, sources: Sequence[MarkovSource]) -> Tensor:
    """Turn uniform numbers u [R, B, length] into stationary sequences, int64 of the same shape.

    The first k symbols come from the stationary law of the contexts, the others from the next
    symbol's law, symbol after symbol. The sources, one per run, have equal S and k.
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


def contexts(x: Tensor, source: MarkovSource) -> Tensor:
    """The context after every symbol from the k-th on, int64 [..., length - k + 1]."""
    S, k = source.states, source.order
    length = x.shape[-1] - k + 1
    return sum(x[..., place : place + length] * S ** (k - 1 - place) for place in range(k))
