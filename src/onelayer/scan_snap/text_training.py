"""Trains the language model of Fig. 7, all seeds at once, and measures its attention on the way."""

import functools

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from onelayer.ensemble import Ensemble, Optimizer, RunRandom, Trained, train
from onelayer.ensemble.execution import Execution, to_device
from onelayer.scan_snap import language_model
from onelayer.scan_snap.language_model import Parameters
from onelayer.scan_snap.text import FREQUENCY_BINS, Text
from onelayer.settings.scan_snap import LanguageModelSettings

SEQUENCES = 16  # evaluated at once
SPARSE = 0.1  # a key below this share of uniform attention counts as dropped


def train_language_model(
    text: Text, settings: LanguageModelSettings, execution: Execution = Execution()
) -> Trained:
    """Train all seeds; `observed` holds what `observe` returns.

    The settings are those of one training, `LanguageModelSettings.of`.
    """
    [training] = settings.trainings
    seeds, device = list(range(settings.seeds)), execution.device
    sizes = len(text.vocabulary), settings.width, settings.hidden
    parameters = language_model.initial_parameters(seeds, *sizes, device)
    rates = dict.fromkeys(parameters, training.lr)
    rates |= dict.fromkeys(language_model.FEED_FORWARD, training.lr_feed_forward)
    options = {"dropout": settings.dropout, "random": RunRandom(seeds, device)}
    positional = training.positions
    ensemble = Ensemble(
        parameters,
        language_model.Reader(text.training, seeds, settings.batch, settings.length, device),
        Optimizer(training.optimizer, lr=rates),
        gradients=functools.partial(
            clipped_gradients, clip=settings.clip, positional=positional, **options
        ),
        labels=[f"{training.optimizer}, lr {training.lr:.15g}, seed {seed}" for seed in seeds],
    )
    return train(
        ensemble,
        settings.iterations,
        observe=lambda parameters: observe(parameters, text, positional),
        observe_at=settings.observed,
        execution=execution,
    )


def clipped_gradients(
    parameters: Parameters, batch: tuple[Tensor, int], clip: float, **options
) -> tuple[Tensor, Parameters]:
    """Loss of every run, [R], and its gradients, cut to a norm of `clip` as the paper's are.

    `options` are those of `language_model.loss`.
    """
    with torch.enable_grad():
        leaves = {name: value.detach().requires_grad_() for name, value in parameters.items()}
        losses = language_model.loss(leaves, batch, **options)
        slopes = torch.autograd.grad(losses.sum(), list(leaves.values()))
    norms = torch.stack([torch.linalg.vector_norm(slope.flatten(1), dim=1) for slope in slopes])
    # torch's clip_grad_norm_ adds the same 1e-6.
    factor = (clip / (torch.linalg.vector_norm(norms, dim=0) + 1e-6)).clamp_(max=1)
    for slope in slopes:
        slope.mul_(factor.view(-1, *[1] * (slope.dim() - 1)))
    return losses.detach(), dict(zip(leaves, slopes, strict=True))


def observe(parameters: Parameters, text: Text, positional: bool) -> dict[str, Tensor]:
    """What all runs do on held-out text, dropout off.

    Returns:
        `loss`, `entropy` (nats), `top1`, `sparse` [runs]: means over query positions, each over its
        own past and itself. `received` [runs, bins]: attention on keys of each frequency bin, 1 if
        uniform. `map` [runs, T, T]: attention on the sequence `text.shown`.
    """
    runs, device = len(parameters["embedding"]), parameters["embedding"].device
    bins, sums = to_device(text.bins, device), {}
    for windows in to_device(text.held_out, device).split(SEQUENCES):
        tokens = windows[None].expand(runs, -1, -1)
        states, attention = language_model.forward(
            parameters, tokens[:, :, :-1], positional=positional
        )
        loss = language_model.decoder_loss(parameters, states, tokens[:, :, 1:]) * len(windows)
        measured = measure(attention.double(), bins[windows[:, :-1]]) | {"loss": loss}
        sums = {name: sums.get(name, 0) + value for name, value in measured.items()}
    received, pairs = sums.pop("received"), sums.pop("pairs")
    means = {name: value / len(text.held_out) for name, value in sums.items()}
    shown = to_device(text.shown, device).expand(runs, 1, -1)
    _, attention = language_model.forward(parameters, shown, positional=positional)
    return means | {"received": received / pairs, "map": attention[:, 0]}


def measure(attention: Tensor, bins: Tensor) -> dict[str, Tensor]:
    """Sums over sequences of the measures of each run.

    Args:
        attention: float64 [R, B, T, T], rows sum to 1, zero above the diagonal.
        bins: int64 [B, T], frequency bin of every key, -1 for none.

    Returns:
        `entropy`, `top1`, `sparse` [R]: mean over queries, summed over sequences. `received`
        [R, bins]: attention times the number of keys, summed over pairs; `pairs` [bins]: how many.
    """
    T = attention.shape[-1]
    keys = torch.arange(1, T + 1, device=attention.device)[:, None]
    past = torch.ones(T, T, dtype=torch.bool, device=attention.device).tril()
    relative = attention * keys
    entropy = -torch.xlogy(attention, attention).sum(3)
    sparse = ((relative < SPARSE) & past).sum(3).double() / keys[:, 0]
    pairs = past.sum(0)[None].expand_as(bins)
    of_keys, in_bin = relative.sum(2), [bins == place for place in range(len(FREQUENCY_BINS))]
    return {
        "entropy": entropy.mean(2).sum(1),
        "top1": attention.amax(3).mean(2).sum(1),
        "sparse": sparse.mean(2).sum(1),
        "received": torch.stack([(of_keys * chosen).sum((1, 2)) for chosen in in_bin], dim=1),
        "pairs": torch.stack([(pairs * chosen).sum() for chosen in in_bin]),
    }


def tabulate_measures(trained: Trained) -> pd.DataFrame:
    """Columns `seed`, `iteration`, `quantity`, `value`: the measures of every run over time.

    `received` has the frequency bin in brackets. There are no rows from the iteration on at which
    a run diverged, or of bins that hold no token.
    """
    measured = {name: trained.observed[name] for name in ("loss", "entropy", "top1", "sparse")}
    received = trained.observed["received"].unbind(-1)
    measured |= {f"received[{b}]": r for b, r in zip(FREQUENCY_BINS, received, strict=True)}
    diverged = trained.diverged_at.numpy()
    alive = (diverged < 0) | (np.array(trained.observed_at)[:, None] <= diverged)
    tables = []
    for name, values in measured.items():
        grid = pd.DataFrame(values.double().numpy(), index=list(trained.observed_at)).where(alive)
        long = grid.rename_axis("iteration").reset_index().melt("iteration", var_name="seed")
        tables.append(long.assign(quantity=name)[["seed", "iteration", "quantity", "value"]])
    return pd.concat(tables, ignore_index=True).dropna(ignore_index=True)


def attention_maps(
    trained: Trained, text: Text, settings: LanguageModelSettings
) -> dict[str, np.ndarray]:
    """Of the first seed: `maps` float32 [iterations, T, T], `iterations`, and the T `tokens`."""
    places = [trained.observed_at.index(iteration) for iteration in settings.maps_at]
    return {
        "maps": trained.observed["map"].numpy()[places, 0],
        "iterations": np.array(settings.maps_at),
        "tokens": np.array([text.vocabulary[token] for token in text.shown]),
    }
