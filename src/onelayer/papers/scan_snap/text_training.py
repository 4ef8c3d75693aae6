"""Trains the language model of Fig. 7, all seeds at once, and keeps what is measured on the way."""

import functools
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from onelayer.compute.ensemble import Ensemble, Optimizer, RunRandom, Trained, train
from onelayer.compute.execution import Execution
from onelayer.papers.scan_snap import language_model
from onelayer.papers.scan_snap.language_model import FEED_FORWARD, Reader, Shape
from onelayer.papers.scan_snap.text import FREQUENCY_BINS, Text, shown_window
from onelayer.papers.scan_snap.text_attention import Observer
from onelayer.settings.scan_snap import LanguageModelSettings

QUANTITIES = ["loss", "entropy", "top1", "sparse"]


def train_language_model(
    text: Text, settings: LanguageModelSettings, execution: Execution = Execution()
) -> Trained:
    """Train all seeds; `observed` holds what `text_attention.Observer` returns.

    Args:
        text: what is read, in training and held out.
        settings: of one training, as `LanguageModelSettings.of` gives them.
        execution: where.

    Raises:
        ValueError: the text is too short for one window.
    """
    (training,) = settings.trainings
    seeds, device = list(range(settings.seeds)), execution.device
    shape = Shape(len(text.vocabulary), settings.width, settings.hidden)
    parameters = language_model.initial_parameters(shape, seeds, device)
    rates = dict.fromkeys(parameters, training.lr)
    rates |= dict.fromkeys(FEED_FORWARD, training.lr_feed_forward)
    random = RunRandom(seeds, device)
    ensemble = Ensemble(
        parameters,
        Reader(text.training, seeds, settings.batch, settings.length, device),
        Optimizer(training.optimizer, lr=rates, clip=settings.clip),
        loss=functools.partial(
            language_model.loss,
            dropout=settings.dropout,
            random=random,
            positional=training.positions,
        ),
        labels=[f"{training.optimizer}, lr {training.lr:g}, seed {seed}" for seed in seeds],
    )
    return train(
        ensemble,
        settings.iterations,
        observe=Observer(text, settings.seeds, device, training.positions),
        observe_at=settings.observed,
        execution=execution,
    )


def tabulate_measures(trained: Trained) -> pd.DataFrame:
    """Measures of every run over time.

    Returns:
        Columns `seed`, `iteration`, `quantity` (`loss`, `entropy`, `top1`, `sparse`, and
        `received` with the frequency bin in brackets), `value`; without rows from the iteration on
        at which a run diverged, or of bins that hold no token.
    """
    parts = [(name, trained.observed[name].double().numpy()) for name in QUANTITIES]
    received = trained.observed["received"].double().numpy()
    parts += [(f"received[{bin_}]", received[..., b]) for b, bin_ in enumerate(FREQUENCY_BINS)]
    diverged = trained.diverged_at.numpy()
    alive = (diverged < 0) | (np.array(trained.observed_at)[:, None] <= diverged)
    tables = []
    for name, values in parts:
        grid = pd.DataFrame(np.where(alive, values, np.nan), index=list(trained.observed_at))
        long = grid.rename_axis("iteration").reset_index()
        long = long.melt("iteration", var_name="seed", value_name="value")
        tables.append(long.assign(quantity=name)[["seed", "iteration", "quantity", "value"]])
    return pd.concat(tables, ignore_index=True).dropna(ignore_index=True)


def write_maps(trained: Trained, text: Text, shown: Sequence[int], seed: int, path: Path) -> None:
    """Write attention of one seed on the sequence of `text.shown_window` at some iterations.

    The file holds `maps` float32 [iterations, T, T], `iterations`, and `tokens`, the T texts.
    """
    window = shown_window(text.held_out)
    places = [trained.observed_at.index(iteration) for iteration in shown]
    np.savez(
        path,
        maps=trained.observed["map"].numpy()[places, seed],
        iterations=np.array(shown),
        tokens=np.array([text.vocabulary[token] for token in text.held_out[window, :-1]]),
    )
