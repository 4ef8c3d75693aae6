"""Times the language model of Scan and Snap against torch's own layer, one seed at a time."""

import math
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from bench.case import Case, Numbers, Way, Work, counted_flops
from onelayer.papers.scan_snap import language_model
from onelayer.papers.scan_snap.language_model import Reader, positions
from onelayer.papers.scan_snap.text import Text
from onelayer.papers.scan_snap.text_training import train_language_model
from onelayer.settings.root import default_settings
from onelayer.settings.scan_snap import LanguageModelSettings, TextTrainingSettings

SCAN_SNAP = default_settings().scan_snap


def cases(small: bool = False) -> Iterator[Case]:
    """Sizes of the default, without dropout, which can be compared, and with it."""
    sizes = {"vocabulary": 100, "width": 8, "hidden": 8} if small else {}
    for dropout in (0.0, 0.3):
        yield _case(dropout, 3 if small else 15, sizes)


def _case(dropout: float, iterations: int, sizes: dict[str, int]) -> Case:
    training = TextTrainingSettings(name="adam", optimizer="adam", lr=1e-3, lr_feed_forward=1e-3)
    settings = SCAN_SNAP.language_model.but(
        **({"vocabulary": 1000, "width": 200, "hidden": 200} | sizes),
        dropout=dropout,
        clip=0.5,
        iterations=iterations,
        measure_every=iterations,
        maps_at=[0],
        seeds=3,
        device="cpu",
        corpus="none",
        trainings=[training],
    )
    text = _text(settings)
    return Case(
        name=f"text model, 3 seeds x {iterations} iterations, dropout {dropout:g}",
        steps=("train_text_model",),
        ours=Way("ours", lambda: _ours(text, settings)),
        simple=Way(
            "one seed at a time: torch's TransformerEncoderLayer, fused Adam"
            + ("" if dropout == 0 else ", with dropout of its own"),
            lambda: _plain_loop(text, settings),
            share=1 / settings.seeds,
            tolerance=1e-4 if dropout == 0 else 0.05,
        ),
        authors="the same layer, one seed at a time",
        count_work=lambda: _work(text, settings),
    )


def _text(settings: LanguageModelSettings) -> Text:
    """Words with Zipf's frequencies; two held-out windows, so that measuring them costs nothing."""
    rng, V = np.random.default_rng(0), settings.vocabulary
    chances = 1 / np.arange(1, V + 1)
    drawn = rng.choice(V, 40_000, p=chances / chances.sum())
    held_out = drawn[: 2 * (settings.length + 1)].reshape(2, -1)
    return Text([f"word{word}" for word in range(V)], drawn, held_out)


def _ours(text: Text, settings: LanguageModelSettings) -> Numbers:
    return {"losses": train_language_model(text, settings).losses[:, 0]}


class Model(nn.Module):
    """Embedding, positions, one encoder layer with a single head, decoder."""

    def __init__(self, settings: LanguageModelSettings) -> None:
        super().__init__()
        V, d, h = settings.vocabulary, settings.width, settings.hidden
        self.embedding, self.decoder = nn.Embedding(V, d), nn.Linear(d, V)
        self.layer = nn.TransformerEncoderLayer(d, 1, h, settings.dropout, batch_first=True)
        self.dropout = nn.Dropout(settings.dropout)
        T = settings.length
        self.register_buffer("positions", positions(T, d))
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(T))

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits [B, T, V] for tokens [B, T]."""
        embedded = self.embedding(tokens) * math.sqrt(self.positions.shape[1])
        x = self.dropout(embedded + self.positions)
        return self.decoder(self.layer(x, src_mask=self.mask, is_causal=True))


def _plain_loop(text: Text, settings: LanguageModelSettings) -> Numbers:
    torch.manual_seed(0)
    model = Model(settings)
    model.load_state_dict(_start(settings), strict=False)
    optimizer = torch.optim.Adam(model.parameters(), settings.trainings[0].lr, fused=True)
    reader, losses = Reader(text.training, [0], settings.batch, settings.length), []
    for step in range(settings.iterations):
        tokens = reader(step).tokens[0]
        logits = model(tokens[:, :-1])
        loss = functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), settings.clip)
        optimizer.step()
        losses.append(loss.item())
    return {"losses": losses}


def _start(settings: LanguageModelSettings) -> dict[str, Tensor]:
    """Our initial parameters of seed 0 by torch's names."""
    sizes = settings.vocabulary, settings.width, settings.hidden
    ours = language_model.initial_parameters([0], *sizes)
    linear = {
        "decoder": "decoder.",
        "attention_in": "layer.self_attn.in_proj_",
        "attention_out": "layer.self_attn.out_proj.",
        "feed_forward_in": "layer.linear1.",
        "feed_forward_out": "layer.linear2.",
        "norm1": "layer.norm1.",
        "norm2": "layer.norm2.",
    }
    found = {"embedding.weight": ours["embedding"][0]}
    for name, theirs in linear.items():
        found |= {f"{theirs}weight": ours[name][0], f"{theirs}bias": ours[f"{name}_bias"][0]}
    return found


def _work(text: Text, settings: LanguageModelSettings) -> Work:
    weights = sum(parameter.numel() for parameter in Model(settings).parameters())
    updates = settings.seeds * settings.iterations
    return Work(
        flops=settings.seeds * counted_flops(lambda: _plain_loop(text, settings)),
        bytes=4 * 7 * weights * updates,
        rate="torch float32",
        formula="products that torch counts in the plain loop; 28 bytes a weight and update",
    )
