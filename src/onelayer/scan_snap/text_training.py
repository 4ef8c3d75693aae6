"""Trains the language model of Fig. 7, all seeds at once, and measures its attention on the way."""

import functools

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from torch.nn import functional

from onelayer.ensemble import Ensemble, Optimizer, RunRandom, Trained, train
from onelayer.ensemble.execution import Execution, to_device
from onelayer.scan_snap import language_model
from onelayer.scan_snap.language_model import Parameters
from onelayer.scan_snap.text import Text
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
    random = RunRandom(seeds, device)
    sizes = len(text.vocabulary), settings.width, settings.hidden
    parameters = language_model.initial_parameters(seeds, *sizes, device)
    rates = dict.fromkeys(parameters, training.lr)
    rates |= dict.fromkeys(language_model.FEED_FORWARD, training.lr_feed_forward)

    def gradients(parameters: Parameters, batch: tuple[Tensor, int]) -> tuple[Tensor, Parameters]:
        tokens, step = batch
        drop = functools.partial(language_model.dropout, random, settings.dropout, step)
        return language_model.gradients(parameters, tokens, settings.clip, training.positions, drop)

    return train(
        Ensemble(
            parameters,
            language_model.Reader(text.training, seeds, settings.batch, settings.length, device),
            Optimizer(training.optimizer, lr=rates),
            gradients=gradients,
            labels=[f"{training.optimizer}, lr {training.lr:.15g}, seed {seed}" for seed in seeds],
        ),
        settings.iterations,
        observe=lambda parameters: observe(parameters, text, training.positions),
        observe_at=settings.observed,
        execution=execution,
    )


def observe(parameters: Parameters, text: Text, positional: bool) -> dict[str, Tensor]:
    """What all runs do on held-out text, dropout off.

    Returns:
        `loss`, `entropy` (nats), `top1`, `sparse` [runs]: means over query positions, each over its
        own past and itself. `received` [runs, bins]: attention on keys of each frequency bin, 1 if
        uniform. `map` [runs, T, T]: attention on the sequence `text.shown`.
    """
    runs, device = len(parameters["embedding"]), parameters["embedding"].device
    bin_of, sums = to_device(text.bin_of, device), {}
    for windows in to_device(text.held_out, device).split(SEQUENCES):
        tokens = windows[None].expand(runs, -1, -1)
        states, attention = language_model.forward(parameters, tokens[:, :, :-1], positional)
        loss = language_model.decoder_loss(parameters, states, tokens[:, :, 1:])
        measured = measure(attention.double(), bin_of[windows[:, :-1]], len(text.bins))
        measured["loss"] = loss * len(windows)
        sums = {name: sums.get(name, 0) + value for name, value in measured.items()}
    received, pairs = sums.pop("received"), sums.pop("pairs")
    means = {name: value / len(text.held_out) for name, value in sums.items()}
    shown = to_device(text.shown, device).expand(runs, 1, -1)
    _, attention = language_model.forward(parameters, shown, positional)
    return means | {"received": received / pairs, "map": attention[:, 0]}


def measure(attention: Tensor, bins: Tensor, number: int) -> dict[str, Tensor]:
    """Sums over sequences of the measures of each run.

    Args:
        attention: float64 [R, B, T, T], rows sum to 1, zero above the diagonal.
        bins: int64 [B, T], frequency bin of every key, -1 for none.
        number: of bins.

    Returns:
        `entropy`, `top1`, `sparse` [R]: mean over queries, summed over sequences. `received`
        [R, bins]: attention times the number of keys, summed over pairs; `pairs` [bins]: how many.
    """
    T = attention.shape[-1]
    keys = torch.arange(1, T + 1, device=attention.device)[:, None]
    past = torch.ones(T, T, dtype=torch.bool, device=attention.device).tril()
    relative = attention * keys
    sparse = ((relative < SPARSE) & past).sum(3) / keys[:, 0].double()
    in_bin = functional.one_hot(bins + 1, number + 1)[..., 1:].double()  # [B, T, bins]
    return {
        "entropy": -torch.xlogy(attention, attention).sum(3).mean(2).sum(1),
        "top1": attention.amax(3).mean(2).sum(1),
        "sparse": sparse.mean(2).sum(1),
        "received": torch.einsum("rbk,bkf->rf", relative.sum(2), in_bin),
        "pairs": torch.einsum("k,bkf->f", past.sum(0).double(), in_bin),
    }


def tabulate_measures(trained: Trained, bins: list[str]) -> pd.DataFrame:
    """Columns `seed`, `iteration`, `quantity`, `value`: the measures of every run over time.

    `received` has the frequency bin in brackets. There are no rows from the iteration on at which
    a run diverged, or of bins that hold no token.
    """
    observed, names = trained.observed, ["loss", "entropy", "top1", "sparse"]
    values = torch.cat([torch.stack([observed[n] for n in names], 2), observed["received"]], 2)
    axes = [trained.observed_at, range(values.shape[1])]
    table = pd.DataFrame(
        values.flatten(0, 1).numpy(),
        pd.MultiIndex.from_product(axes, names=["iteration", "seed"]),
        [*names, *(f"received[{b}]" for b in bins)],
    )
    diverged = trained.diverged_at.numpy()
    alive = (diverged < 0) | (np.array(trained.observed_at)[:, None] <= diverged)
    table = table[alive.flatten()].melt(var_name="quantity", ignore_index=False)
    return table.dropna().reset_index()


def attention_maps(trained: Trained, text: Text) -> dict[str, np.ndarray]:
    """Of the first seed: `maps` float32 [2, T, T], before and after training; the T `tokens`."""
    tokens = np.array([text.vocabulary[token] for token in text.shown])
    return {"maps": trained.observed["map"].numpy()[[0, -1], 0], "tokens": tokens}
