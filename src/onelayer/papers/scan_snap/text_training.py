"""Trains the language model of Fig. 7, all seeds at once, and measures its attention on the way."""

import functools
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from onelayer.compute.device import fitting, on_gpu, to_device
from onelayer.compute.ensemble import Ensemble, Optimizer, RunRandom, Trained, train
from onelayer.compute.execution import Execution
from onelayer.papers.scan_snap import language_model
from onelayer.papers.scan_snap.language_model import FEED_FORWARD, Parameters, Reader
from onelayer.papers.scan_snap.text import FREQUENCY_BINS, Text, frequency_bins, shown_window
from onelayer.settings.scan_snap import LanguageModelSettings

SEQUENCES = 16  # evaluated at once; a GPU takes what its memory holds
SPARSE = 0.1  # a key below this share of uniform attention counts as dropped


def train_language_model(
    text: Text, settings: LanguageModelSettings, execution: Execution = Execution()
) -> Trained:
    """Train all seeds; `observed` holds what `Observer` returns.

    The settings are those of one training, `LanguageModelSettings.of`.

    Raises:
        ValueError: the text is too short for one window.
    """
    (training,) = settings.trainings
    seeds, device = list(range(settings.seeds)), execution.device
    sizes = len(text.vocabulary), settings.width, settings.hidden
    parameters = language_model.initial_parameters(seeds, *sizes, device)
    rates = dict.fromkeys(parameters, training.lr)
    rates |= dict.fromkeys(FEED_FORWARD, training.lr_feed_forward)
    options = {"dropout": settings.dropout, "random": RunRandom(seeds, device)}
    options["positional"] = training.positions
    ensemble = Ensemble(
        parameters,
        Reader(text.training, seeds, settings.batch, settings.length, device),
        Optimizer(training.optimizer, lr=rates, clip=settings.clip),
        loss=functools.partial(language_model.loss, **options),
        labels=[f"{training.optimizer}, lr {training.lr:.15g}, seed {seed}" for seed in seeds],
    )
    return train(
        ensemble,
        settings.iterations,
        observe=Observer(text, settings.seeds, device, training.positions),
        observe_at=settings.observed,
        execution=execution,
    )


class Observer:
    """Measures all runs on held-out text, dropout off."""

    def __init__(self, text: Text, runs: int, device: str, positional: bool) -> None:
        at_once = SEQUENCES
        if on_gpu(device):
            T, V = text.held_out.shape[1], len(text.vocabulary)
            at_once = fitting(runs * T * (80 * T + 8 * V), device)
        self.windows = to_device(text.held_out, device).split(at_once)
        self.shown = to_device(text.held_out[shown_window(text.held_out), :-1], device)
        self.bins = to_device(frequency_bins(len(text.vocabulary)), device)
        self.runs = runs
        self.forward = functools.partial(language_model.forward, positional=positional)

    def __call__(self, parameters: Parameters) -> dict[str, Tensor]:
        """Per run: `loss` (nats), `entropy` (nats), `top1`, `sparse`, `received`, `map`.

        `received` [runs, bins] is attention on keys of each frequency bin, relative to uniform
        attention; `map` [runs, T, T] is attention on the sequence of `text.shown_window`. The
        others are means over query positions, each over its own past and itself.
        """
        sums: dict[str, Tensor] = {}
        for windows in self.windows:
            tokens = windows[None].expand(self.runs, -1, -1)
            states, attention = self.forward(parameters, tokens[:, :, :-1])
            loss = language_model.decoder_loss(parameters, states, tokens[:, :, 1:])
            loss *= len(windows)
            measured = measure(attention.double(), self.bins[windows[:, :-1]]) | {"loss": loss}
            sums = {name: sums.get(name, 0) + value for name, value in measured.items()}
        sequences = sum(map(len, self.windows))
        received, pairs = sums.pop("received"), sums.pop("pairs")
        means = {name: value / sequences for name, value in sums.items()}
        shown = self.shown.expand(self.runs, 1, -1)
        _, attention = self.forward(parameters, shown)
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
    """Measures of every run over time.

    Returns:
        Columns `seed`, `iteration`, `quantity` (`loss`, `entropy`, `top1`, `sparse`, and
        `received` with the frequency bin in brackets), `value`; without rows from the iteration on
        at which a run diverged, or of bins that hold no token.
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


def write_maps(trained: Trained, text: Text, shown: Sequence[int], path: Path) -> None:
    """Write attention of the first seed on the sequence of `text.shown_window` at some iterations.

    The file holds `maps` float32 [iterations, T, T], `iterations`, and `tokens`, the T texts.
    """
    window = text.held_out[shown_window(text.held_out), :-1]
    places = [trained.observed_at.index(iteration) for iteration in shown]
    np.savez(
        path,
        maps=trained.observed["map"].numpy()[places, 0],
        iterations=shown,
        tokens=np.array([text.vocabulary[token] for token in window]),
    )
