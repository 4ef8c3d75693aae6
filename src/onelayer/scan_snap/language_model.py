"""The one-layer causal transformer of Fig. 7, its training on text, and what its attention does.

Token embedding times sqrt(d) plus sinusoidal positions (or none, as in the paper's theory), one
post-norm encoder layer with a single head, a decoder to the vocabulary: torch's
`TransformerEncoderLayer`, but with numbers of dropout that belong to a run and a step, so that a
training can resume, and with its attention returned. All seeds of a training are side by side.
Shapes: R runs, B sequences of T tokens, d embedding size, h hidden size, V vocabulary.
"""

import functools
import itertools
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, embedding, layer_norm, one_hot

from onelayer.ensemble import Ensemble, Optimizer, RunRandom, Trained, train
from onelayer.ensemble.execution import Execution, to_device
from onelayer.errors import OnelayerError
from onelayer.seeds import generator
from onelayer.settings.scan_snap import LanguageModelSettings
from onelayer.text.corpus.articles import tokens as split

Parameters = dict[str, Tensor]
UNKNOWN, END = "<unk>", "<eos>"  # ids 0 and 1; an article ends with END
MARK = "\ufffd"  # of one token: WikiText's own UNKNOWN would be three
FIRST_RANKS = 1, 11, 101, 1001  # of frequency bins, by rank in the training part
SEQUENCES = 16  # evaluated at once
SPARSE = 0.1  # a key below this share of uniform attention counts as dropped


@dataclass(frozen=True, eq=False)
class Text:
    """A corpus as token ids."""

    vocabulary: list[str]  # by id: UNKNOWN, END, then from frequent to rare in the training part
    training: np.ndarray  # ids of the training articles, one after the other
    held_out: np.ndarray  # [sequences, length + 1], windows of articles not trained on

    @property
    def shown(self) -> np.ndarray:
        """The held-out window that maps show, [length]: the first with fewest unknown tokens."""
        inputs = self.held_out[:, :-1]
        return inputs[(inputs == 0).sum(axis=1).argmin()]

    @property
    def bins(self) -> list[str]:
        """Ranges of frequency ranks, the most frequent first; then UNKNOWN, all rarer tokens."""
        known = len(self.vocabulary) - 2
        first = [*(rank for rank in FIRST_RANKS if rank <= known), known + 1]
        return [*(f"{a}–{b - 1}" for a, b in itertools.pairwise(first)), UNKNOWN]

    @property
    def bin_of(self) -> np.ndarray:
        """The place in `bins` of each id, [vocabulary]; -1 for END."""
        ranks = np.arange(1, len(self.vocabulary) - 1)
        return np.r_[len(self.bins) - 1, -1, np.searchsorted(FIRST_RANKS, ranks, side="right") - 1]


def encode(articles: pd.DataFrame, settings: LanguageModelSettings) -> Text:
    """Split articles, count tokens, and number them; `OnelayerError` if they are too short."""
    texts = [split(text.lower().replace(UNKNOWN, MARK)) for text in articles["text"]]
    order = generator("scan and snap held-out articles").permutation(len(texts))
    held = set(order[: max(1, round(settings.held_out_share * len(texts)))].tolist())
    training = [text for place, text in enumerate(texts) if place not in held]
    counts = Counter(token for text in training for token in text if token != MARK)
    kept = sorted(counts, key=lambda token: (-counts[token], token))[: settings.vocabulary - 2]
    names = [UNKNOWN, END, *kept]
    index = {name: place for place, name in enumerate(names)}
    trained_on, unseen = (
        np.array([index.get(token, 0) for text in part for token in (*text, END)])
        for part in (training, [texts[place] for place in sorted(held)])
    )
    length, sequences = settings.length, settings.held_out_sequences
    for key, part in (("held_out_sequences", unseen), ("batch", trained_on)):
        if (wanted := getattr(settings, key)) > len(part) // (length + 1):
            raise OnelayerError(
                f"scan_snap.language_model.{key}: {wanted}; its articles have {len(part)} tokens, "
                f"too few for so many sequences of {length} and the next"
            )
    starts = np.linspace(0, len(unseen) - length - 1, sequences).astype(np.int64)
    return Text(names, trained_on, unseen[starts[:, None] + np.arange(length + 1)])


def initial_parameters(seeds: Sequence[int], V: int, d: int, h: int, device="cpu") -> Parameters:
    """Embedding and decoder U(-.1, .1), attention Xavier uniform, the rest as torch's Linear."""
    bounds = {
        "embedding": ((V, d), 0.1),
        "attention_in": ((3 * d, d), math.sqrt(6 / (4 * d))),
        "attention_out": ((d, d), d**-0.5),
        "feed_forward_in": ((h, d), d**-0.5),
        "feed_forward_in_bias": ((h,), d**-0.5),
        "feed_forward_out": ((d, h), h**-0.5),
        "feed_forward_out_bias": ((d,), h**-0.5),
        "decoder": ((V, d), 0.1),
    }
    parameters, random = {}, RunRandom(seeds, device)
    for name, (size, bound) in bounds.items():
        parameters[name] = random.uniform(*size, use=f"initial {name}").mul_(2 * bound).sub_(bound)
    for name, size in (("attention_in", 3 * d), ("attention_out", d), ("decoder", V)):
        parameters[f"{name}_bias"] = torch.zeros(len(seeds), size, device=device)
    for name in ("norm1", "norm2"):
        parameters[name] = torch.ones(len(seeds), d, device=device)
        parameters[f"{name}_bias"] = torch.zeros(len(seeds), d, device=device)
    return parameters


def read_batch(columns: Tensor, starts: Tensor, length: int, step: int) -> tuple[Tensor, int]:
    """Tokens [R, B, length + 1] of a step, inputs and targets in one; and the step.

    As the paper's loader cuts them: consecutive windows of the text's columns, [B, rows], round
    and round; each run from its own row, `starts` [R, 1].
    """
    rows = starts + step * length + torch.arange(length + 1, device=starts.device)
    return columns[:, rows % columns.shape[1]].transpose(0, 1), step


def dropout(random: RunRandom, share: float, step: int, values: Tensor, use: str) -> Tensor:
    """Drop a share of the values, and scale up the others; a mask is of a run, step and use."""
    kept = random.flips(1 - share, *values.shape[1:], use=f"dropout {use}", step=step)
    return values * kept.to(values.dtype).div_(1 - share)


def forward(
    parameters: Parameters,
    tokens: Tensor,
    positional: bool,
    drop: Callable[[Tensor, str], Tensor] = lambda values, use: values,
) -> tuple[Tensor, Tensor]:
    """Of tokens [R, B, T]: states before the decoder, [R, B, T, d], and scores, [R, B, T, T].

    Attention is the softmax of scores, which are -infinity of what comes later.
    """

    def linear(x: Tensor, name: str) -> Tensor:
        return torch.baddbmm(parameters[f"{name}_bias"][:, None], x, parameters[name].mT)

    def norm(x: Tensor, name: str) -> Tensor:
        normed = layer_norm(x, x.shape[-1:])
        return normed * parameters[name][:, None] + parameters[f"{name}_bias"][:, None]

    B, T = tokens.shape[1:]
    R, V, d = parameters["embedding"].shape
    at = functools.partial(torch.arange, device=tokens.device)
    rows = tokens + V * at(R)[:, None, None]
    x = embedding(rows, parameters["embedding"].flatten(0, 1)) * math.sqrt(d)
    if positional:  # sinusoids (Vaswani et al. 2017, section 3.5)
        angles = at(T)[:, None] * torch.exp(at(0, d, 2) * (-math.log(10000.0) / d))
        x = x + torch.stack([angles.sin(), angles.cos()], dim=2).flatten(1)
    x = drop(x, "embedding").flatten(1, 2)
    query, key, value = linear(x, "attention_in").unflatten(1, (B, T)).chunk(3, dim=3)
    future = torch.ones(T, T, dtype=torch.bool, device=tokens.device).triu(1)
    scores = (query @ key.mT / math.sqrt(d)).masked_fill(future, -torch.inf)
    attention = drop(torch.softmax(scores, dim=3), "attention")
    mixed = linear((attention @ value).flatten(1, 2), "attention_out")
    x = norm(x + drop(mixed, "mixed"), "norm1")
    hidden = torch.relu(linear(x, "feed_forward_in"))
    out = linear(drop(hidden, "hidden"), "feed_forward_out")
    x = norm(x + drop(out, "out"), "norm2")
    return x.unflatten(1, (B, T)), scores


def decoder_loss(parameters: Parameters, states: Tensor, targets: Tensor) -> Tensor:
    """Mean cross-entropy of every run (nats), [R], from `forward`'s states and the next tokens."""
    W, bias = parameters["decoder"], parameters["decoder_bias"]
    logits = torch.baddbmm(bias[:, None], states.flatten(1, 2), W.mT)
    each = cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none")
    return each.view(len(W), -1).mean(1)  # over the B T tokens of a run


def loss_and_gradients(parameters: Parameters, tokens: Tensor, clip: float, *options):
    """Loss of every run, [R], and its gradients by name, cut to a norm of `clip` as the paper's.

    Tokens, [R, B, T + 1], are inputs and targets in one; `options` are `forward`'s.
    """
    with torch.enable_grad():
        leaves = {name: value.detach().requires_grad_() for name, value in parameters.items()}
        states, _ = forward(leaves, tokens[..., :-1], *options)
        losses = decoder_loss(leaves, states, tokens[..., 1:])
        slopes = torch.autograd.grad(losses.sum(), list(leaves.values()))
    norms = torch.stack([torch.linalg.vector_norm(slope.flatten(1), dim=1) for slope in slopes])
    # torch's clip_grad_norm_ adds the same 1e-6.
    factor = (clip / (torch.linalg.vector_norm(norms, dim=0) + 1e-6)).clamp_(max=1)
    for slope in slopes:
        slope.mul_(factor.view(-1, *[1] * (slope.dim() - 1)))
    return losses.detach(), dict(zip(leaves, slopes, strict=True))


def train_language_model(
    text: Text, settings: LanguageModelSettings, execution: Execution = Execution()
) -> Trained:
    """Train all seeds of one training (`settings.of`); `observed` holds what `observe` returns."""
    [training] = settings.trainings
    seeds, steps, device = list(range(settings.seeds)), settings.iterations, execution.device
    random = RunRandom(seeds, device)
    sizes = len(text.vocabulary), settings.width, settings.hidden
    parameters = initial_parameters(seeds, *sizes, device)
    rates = dict.fromkeys(parameters, training.lr)
    rates["feed_forward_in"] = rates["feed_forward_out"] = training.lr_feed_forward

    def of_batch(parameters: Parameters, batch: tuple[Tensor, int]) -> tuple[Tensor, Parameters]:
        tokens, step = batch
        drop = functools.partial(dropout, random, settings.dropout, step)
        return loss_and_gradients(parameters, tokens, settings.clip, training.positions, drop)

    B, rows = settings.batch, len(text.training) // settings.batch
    columns = to_device(text.training[: B * rows].reshape(B, rows), device)
    starts = random.integers(rows, 1, use="first window")
    read = functools.partial(read_batch, columns, starts, settings.length)
    optimizer = Optimizer(training.optimizer, lr=rates)
    ensemble = Ensemble(parameters, read, optimizer, gradients=of_batch)
    looks = {"observe": lambda trained: observe(trained, text, training.positions)}
    looks["observe_at"] = [*range(0, steps, settings.measure_every), steps]
    return train(ensemble, steps, **looks, execution=execution)


def observe(parameters: Parameters, text: Text, positional: bool) -> dict[str, Tensor]:
    """What all runs do on held-out text, dropout off.

    Returns:
        `loss`, `entropy` (nats), `top1`, `sparse` [runs]: means over query positions, each over its
        own past and itself. `received` [runs, bins]: attention on keys of each frequency bin, 1 if
        uniform. `map` [runs, T, T]: attention on the sequence `text.shown`.
    """
    runs, device = len(parameters["embedding"]), parameters["embedding"].device
    bin_of, shown = to_device(text.bin_of, device), to_device(text.shown, device)
    sums = {}
    for windows in to_device(text.held_out, device).split(SEQUENCES):
        tokens = windows[None].expand(runs, -1, -1)
        states, scores = forward(parameters, tokens[:, :, :-1], positional)
        loss = decoder_loss(parameters, states, tokens[:, :, 1:])
        measured = measure(scores.double(), bin_of[windows[:, :-1]], len(text.bins))
        measured["loss"] = loss * len(windows)
        sums = {name: sums.get(name, 0) + value for name, value in measured.items()}
    received = sums.pop("received") / sums.pop("pairs")
    means = {name: value / len(text.held_out) for name, value in sums.items()}
    _, scores = forward(parameters, shown.expand(runs, 1, -1), positional)
    return means | {"received": received, "map": torch.softmax(scores[:, 0], dim=2)}


def measure(scores: Tensor, bins: Tensor, number: int) -> dict[str, Tensor]:
    """Sums over sequences of what each run's attention does.

    Of its scores, float64 [R, B, T, T], and each key's frequency bin, [B, T], of so many; -1: none.

    Returns:
        `entropy`, `top1`, `sparse` [R]: mean over queries, summed over sequences. `received`
        [R, bins]: attention over uniform attention, summed over pairs; `pairs` [bins]: how many.
        Known tokens share what known ones get: what UNKNOWN, the last bin, loses is no gain.
    """
    T, attention = scores.shape[-1], torch.softmax(scores, dim=3)
    sequence, query, key = 1, 2, 3  # axes of attention
    keys = torch.arange(1, T + 1, device=attention.device)[:, None]  # of each query
    past = torch.ones(T, T, dtype=torch.bool, device=attention.device).tril()
    relative = attention * keys
    sparse = ((relative < SPARSE) & past).sum(key) / keys[:, 0].double()
    in_bin = one_hot(bins + 1, number + 1)[..., 1:].double()  # [B, T, bins]
    known = in_bin[..., :-1].sum(2)  # [B, T]
    # Of scores, since what known keys get may be too little for a number: [R, B, T, T].
    among = scores.masked_fill(known[:, None] == 0, -torch.inf)
    shares = torch.softmax(among, dim=3).nan_to_num(0)  # NaN: no known key yet
    relative = torch.where(known[:, None] > 0, shares * known.cumsum(1)[..., None], relative)
    return {
        "entropy": -torch.xlogy(attention, attention).sum(key).mean(query).sum(sequence),
        "top1": attention.amax(key).mean(query).sum(sequence),
        "sparse": sparse.mean(query).sum(sequence),
        "received": torch.einsum("rbk,bkf->rf", relative.sum(query), in_bin),
        "pairs": torch.einsum("k,bkf->f", past.sum(0).double(), in_bin),
    }


def tabulate_measures(trained: Trained, bins: list[str]) -> pd.DataFrame:
    """Columns `seed`, `iteration`, `quantity` (`received[bin]`), `value`: every run over time.

    There are no rows after a run has diverged, or of bins that hold no token.
    """
    seen, names = trained.observed, ["loss", "entropy", "top1", "sparse"]
    # [iterations, R, 4 + bins]
    values = torch.cat([torch.stack([seen[name] for name in names], 2), seen["received"]], 2)
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
