"""What is measured of the language model's attention on held-out text (Fig. 7 and beyond)."""

import functools

import torch
from torch import Tensor

from onelayer.compute.device import fitting, on_gpu, to_device
from onelayer.papers.scan_snap import language_model
from onelayer.papers.scan_snap.language_model import Parameters
from onelayer.papers.scan_snap.text import FREQUENCY_BINS, Text, frequency_bins, shown_window

SEQUENCES = 16  # evaluated at once; a GPU takes what its memory holds
SPARSE = 0.1  # a key below this share of uniform attention counts as dropped


class Observer:
    """Measures all runs on held-out text, dropout off.

    Args:
        text: the corpus.
        runs: number of runs.
        device: where the model is.
        positional: whether the model adds positions.
    """

    def __init__(self, text: Text, runs: int, device: str, positional: bool = True) -> None:
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
            found = measure(attention.double(), self.bins[windows[:, :-1]]) | {"loss": loss}
            sums = {name: sums.get(name, 0) + value for name, value in found.items()}
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
    received, counted = [], []
    for place in range(len(FREQUENCY_BINS)):
        own = bins == place
        received.append((relative.sum(2) * own).sum((1, 2)))
        counted.append((pairs * own).sum())
    return {
        "entropy": entropy.mean(2).sum(1),
        "top1": attention.amax(3).mean(2).sum(1),
        "sparse": sparse.mean(2).sum(1),
        "received": torch.stack(received, dim=1),
        "pairs": torch.stack(counted),
    }
