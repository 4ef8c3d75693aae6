"""Times the synthetic topic-structure ensemble against one training loop per run.

The baseline does what the authors' training loop does (YuchenLi01/transformer_topic_model_LDA on
GitHub, src/training_regimen.py): BERT's own layers and a decoder that is frozen at the identity, a
DataLoader that pads the 40 documents of a batch, a cross-entropy that leaves out the positions
labelled -100, one model at a time.
"""

from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

from onelayer.ensemble import RunRandom
from onelayer.papers.topic_structure.synthetic import data
from onelayer.papers.topic_structure.synthetic.training import (
    Plan,
    Run,
    initial_parameters,
    train_runs,
    without_bias,
)
from onelayer.settings.topic_structure_synthetic import MaskingSettings
from tests.oracle.topic_structure_sequences import BertStyle

VOCABULARY, MASKING = data.Vocabulary(10, 10), MaskingSettings()
DOCUMENTS, BATCH, RATE = 2000, 40, 0.003
RUNS, STEPS, LOOP_STEPS = 20, 60, 20
IGNORED = -100  # a label that cross_entropy leaves out


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
    plan = Plan(BATCH, RUNS, STEPS, embedding, "cross_entropy", trained)
    times = []
    for _ in range(4):
        start = perf_counter()
        train_runs(counts, runs, plan, lambda p: {"W_V": p["W_V"]})
        times.append(perf_counter() - start)
    return median(times[1:]) / STEPS / RUNS  # the first one warms up


def _loop_seconds(tokens: Tensor, shown: Tensor, selected: Tensor) -> float:
    D = VOCABULARY.size
    start = initial_parameters(RunRandom([0]), "layer_norm", D)
    model = BertStyle({name: value[0] for name, value in start.items()})
    decoder = torch.nn.Linear(D, D).requires_grad_(False)
    decoder.load_state_dict({"weight": torch.eye(D), "bias": torch.zeros(D)})
    optimizer = torch.optim.Adam((p for p in model.parameters() if p.requires_grad), RATE)
    documents = [
        (seen[words != data.PAD], torch.where(masked, words, IGNORED)[words != data.PAD])
        for words, seen, masked in zip(tokens, shown, selected, strict=True)
    ]
    batches = iter(DataLoader(documents, BATCH, shuffle=True, collate_fn=_padded))
    times = []
    for _ in range(LOOP_STEPS):
        begin = perf_counter()
        seen, labels, attended = next(batches)
        f = decoder(model(seen, attended))
        loss = functional.cross_entropy(f.flatten(0, 1), labels.flatten(), ignore_index=IGNORED)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        times.append(perf_counter() - begin)
    return median(times[2:])


def _padded(documents: list[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor, Tensor]:
    """Shown ids, labels, and which positions are attended to, of a batch."""
    shown, labels = zip(*documents, strict=True)
    attended = [label == IGNORED for label in labels]
    return (
        pad_sequence(shown, batch_first=True, padding_value=data.PAD),
        pad_sequence(labels, batch_first=True, padding_value=IGNORED),
        pad_sequence(attended, batch_first=True, padding_value=False),
    )
