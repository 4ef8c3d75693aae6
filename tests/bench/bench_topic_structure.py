"""Times the synthetic topic-structure ensemble against one training loop per run.

The baseline is what the authors' code does: BERT's own layers, a DataLoader, batches of 40
documents, one model at a time.
"""

from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

from onelayer.ensemble import RunRandom
from onelayer.papers.topic_structure.synthetic import data
from onelayer.papers.topic_structure.synthetic.training import (
    Plan,
    Run,
    initial_parameters,
    train_runs,
    without_bias,
)
from tests.oracle.topic_structure_sequences import BertStyle

VOCABULARY, MASKING = data.Vocabulary(10, 10), data.Masking(0.15, 0.1, 0.1)
DOCUMENTS, BATCH, RATE = 2000, 40, 0.003
RUNS, STEPS, LOOP_STEPS = 20, 60, 20


def rows() -> list[dict[str, Any]]:
    """Seconds of one update of one run: the authors' model, then the paper's one-hot model."""
    rng = np.random.default_rng(0)
    weights = data.dirichlet_weights(rng, VOCABULARY.T, 0.1, DOCUMENTS)
    tokens = data.draw_documents(rng, VOCABULARY, weights, (100, 150), framed=True)
    shown, selected = data.mask_documents(rng, VOCABULARY, tokens, MASKING)
    counts = data.count_rows(VOCABULARY, tokens, shown, selected, masked_attended=False)
    loop = _loop_seconds(*(torch.from_numpy(array) for array in (tokens, shown, selected)))
    measured = []
    for embedding, note in (
        ("layer_norm", "the same model"),
        ("one_hot", "strict one-hot: without token type and LayerNorm"),
    ):
        ours = _ensemble_seconds(counts, embedding)
        measured.append(
            {
                "name": f"topic structure, an update of a run, {embedding}, {RUNS} runs at once",
                "ours_seconds": ours,
                "baseline_seconds": loop,
                "ratio": loop / ours,
                "note": f"{note}; {1 / ours:,.0f} run-steps/s against {1 / loop:,.1f}",
            }
        )
    return measured


def _ensemble_seconds(counts: data.Rows, embedding: str) -> float:
    runs = [Run(seed, "adam", RATE) for seed in range(RUNS)]
    trained = without_bias(embedding)
    plan = Plan(BATCH, RUNS, embedding, "cross_entropy", STEPS, trained=trained)
    times = []
    for _ in range(4):
        start = perf_counter()
        train_runs(counts, runs, plan, lambda p: {"W_V": p["W_V"]})
        times.append(perf_counter() - start)
    return median(times[1:]) / STEPS / RUNS  # the first one warms up


def _loop_seconds(tokens: Tensor, shown: Tensor, selected: Tensor) -> float:
    start = initial_parameters(RunRandom([0]), "layer_norm", VOCABULARY.size)
    model = BertStyle({name: value[0] for name, value in start.items()})
    optimizer = torch.optim.Adam((p for p in model.parameters() if p.requires_grad), RATE)
    batches = iter(DataLoader(TensorDataset(tokens, shown, selected), BATCH, shuffle=True))
    times = []
    for _ in range(LOOP_STEPS):
        begin = perf_counter()
        words, seen, masked = next(batches)
        f = model(seen, (seen != data.PAD) & ~masked)
        loss = functional.cross_entropy(f[masked], words[masked])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        times.append(perf_counter() - begin)
    return median(times[2:])
