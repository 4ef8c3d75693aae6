"""Times the synthetic topic-structure ensemble against one training loop per run.

The authors' way is their training loop (YuchenLi01/transformer_topic_model_LDA on GitHub,
src/training_regimen.py): BERT's own layers and a decoder that is frozen at the identity, a
DataLoader that pads the 40 documents of a batch, a cross-entropy that leaves out the positions
labelled -100, one model at a time.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

from bench.case import Case, Numbers, Way, Work
from onelayer.compute.ensemble import RunRandom
from onelayer.papers.topic_structure.synthetic import data
from onelayer.papers.topic_structure.synthetic.training import (
    DocumentBatches,
    Plan,
    Run,
    initial_parameters,
    train_runs,
)
from onelayer.settings.root import default_settings
from tests.oracle.topic_structure_sequences import BertStyle

SYNTHETIC = default_settings().topic_structure.synthetic
RATE = 0.003
IGNORED = -100  # a label that cross_entropy leaves out
STEPS = (
    "measure_stage_gradients",
    "train_all_components",
    "train_attention_over_steps",
    "train_on_brackets",
    "train_topic_attention",
    "train_two_stages",
    "train_uniform_attention",
)


@dataclass(frozen=True)
class Task:
    """Masked documents, and what is trained on them."""

    vocabulary: data.Vocabulary
    tokens: Tensor
    shown: Tensor
    selected: Tensor
    rows: data.CountRows
    runs: int
    batch: int
    steps: int

    def start(self, embedding: str) -> dict[str, Tensor]:
        """Initial parameters of the run of seed 0."""
        start = initial_parameters(RunRandom([0]), embedding, self.vocabulary.size)
        # As `train_runs` does: the strict one-hot model has no bias.
        names = [name for name in start if name != "b"]
        return {name: start[name][0].requires_grad_() for name in names}

    def documents(self) -> list[np.ndarray]:
        """Documents of each of its steps."""
        batches = DocumentBatches(self.rows, [0], self.batch)
        return [batches.drawn(0, step) for step in range(self.steps)]


def cases(small: bool = False) -> Iterator[Case]:
    """The authors' model, then the paper's one-hot model."""
    rng, masking = np.random.default_rng(0), SYNTHETIC.model
    vocabulary = data.Vocabulary(3, 4) if small else data.Vocabulary(10, 10)
    documents, lengths = (40, (15, 20)) if small else (2000, (100, 150))
    weights = rng.dirichlet(np.full(vocabulary.T, 0.1), documents)
    tokens = data.draw_documents(rng, vocabulary, weights, lengths, framed=True)
    shown, selected = data.mask_documents(rng, vocabulary, tokens, masking)
    rows = data.count_rows(vocabulary, tokens, shown, selected, masked_attended=False)
    drawn = (torch.from_numpy(array) for array in (tokens, shown, selected))
    # The loss of every tenth step is kept; first and last step are compared.
    sizes = (
        {"runs": 2, "batch": 8, "steps": 11} if small else {"runs": 20, "batch": 40, "steps": 41}
    )
    task = Task(vocabulary, *drawn, rows, **sizes)
    yield _case(task, "layer_norm")
    yield _case(task, "one_hot")


def _case(task: Task, embedding: str) -> Case:
    steps = task.steps if task.steps < 20 else 10
    authors: Way | str = Way(
        "one model at a time: BertForMaskedLM's layers, DataLoader",
        lambda: _authors_loop(task, steps),
        of=lambda ours: {"first loss": ours["first loss"]},
        share=steps / task.steps / task.runs,
        tolerance=1e-4,
    )
    return Case(
        name=f"topic structure, {task.runs} runs x {task.steps} updates, {embedding}",
        steps=(*STEPS, "optimise_topic_attention"),
        ours=Way("ours", lambda: _ours(task, embedding)),
        simple=Way(
            "one model at a time: rows of W_K, W_Q, W_V gathered, masked positions ask",
            lambda: _plain_loop(task, embedding),
            share=1 / task.runs,
            tolerance=1e-4,
        ),
        authors=authors if embedding == "layer_norm" else "their one-hot model is the one above",
        count_work=lambda: _work(task),
    )


def _ours(task: Task, embedding: str) -> Numbers:
    runs = [Run(seed, "adam", RATE) for seed in range(task.runs)]
    plan = Plan(task.batch, task.runs, task.steps, embedding, "cross_entropy")
    losses = train_runs(task.rows, runs, plan, lambda p: {"W_V": p["W_V"]}).losses[:, 0]
    return {"first loss": losses[0], "last loss": losses[-1]}


def _plain_loop(task: Task, embedding: str) -> Numbers:
    parameters, losses = task.start(embedding), []
    optimizer = torch.optim.Adam(parameters.values(), RATE, fused=True)
    one_hot = torch.eye(task.vocabulary.size)
    for chosen in task.documents():
        tokens, shown, selected = (t[chosen] for t in (task.tokens, task.shown, task.selected))
        # Only masked positions ask: as many of each document as the most that one has.
        most = int(selected.sum(dim=1).max())
        asking = selected.int().topk(most, dim=1).indices
        masked = selected.gather(1, asking)
        W_Q, W_K, W_V = (parameters[name] for name in ("W_Q", "W_K", "W_V"))
        tables = W_Q.T, W_K.T, W_V.T  # of every token: what it asks, shows and says
        if embedding == "layer_norm":
            u, gain, shift = (parameters[name] for name in ("token_type", "gain", "shift"))
            Z = functional.layer_norm(one_hot + u, u.shape, gain, shift, eps=1e-12)
            b_Q, b_V = parameters["b_Q"], parameters["b_V"]
            tables = tuple(functional.linear(Z, *W) for W in ((W_Q, b_Q), (W_K,), (W_V, b_V)))
        attended = (shown != data.PAD) & ~selected
        places = (shown.gather(1, asking), shown, shown)
        gathered = (functional.embedding(*pair) for pair in zip(places, tables, strict=True))
        f = functional.scaled_dot_product_attention(*gathered, attn_mask=attended[:, None])
        loss = functional.cross_entropy(f[masked], tokens.gather(1, asking)[masked])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return {"first loss": losses[0], "last loss": losses[-1]}


def _authors_loop(task: Task, steps: int) -> Numbers:
    D = task.vocabulary.size
    start = {name: value.detach() for name, value in task.start("layer_norm").items()}
    model = BertStyle(start)
    decoder = nn.Linear(D, D).requires_grad_(False)
    decoder.load_state_dict({"weight": torch.eye(D), "bias": torch.zeros(D)})
    optimizer = torch.optim.Adam((p for p in model.parameters() if p.requires_grad), RATE)
    order = np.concatenate(task.documents()[:steps])
    documents = [
        (seen[words != data.PAD], torch.where(masked, words, IGNORED)[words != data.PAD])
        for words, seen, masked in zip(
            task.tokens[order], task.shown[order], task.selected[order], strict=True
        )
    ]
    losses = []
    for seen, labels, attended in DataLoader(documents, task.batch, collate_fn=_padded):
        f = decoder(model(seen, attended))
        loss = functional.cross_entropy(f.flatten(0, 1), labels.flatten(), ignore_index=IGNORED)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return {"first loss": losses[0]}


def _padded(documents: list[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor, Tensor]:
    """Shown ids, labels, and which positions are attended to, of a batch."""
    shown, labels = zip(*documents, strict=True)
    attended = [label == IGNORED for label in labels]
    return (
        pad_sequence(shown, batch_first=True, padding_value=data.PAD),
        pad_sequence(labels, batch_first=True, padding_value=IGNORED),
        pad_sequence(attended, batch_first=True, padding_value=False),
    )


def _work(task: Task) -> Work:
    """Scores of all pairs of tokens and back, 6 D^3; outputs of all distinct rows and back."""
    D, updates = task.vocabulary.size, task.runs * task.steps
    rows = len(task.rows.query) / len(task.rows.keys) * task.batch
    return Work(
        flops=updates * (6 * D**3 + 6 * rows * D**2),
        bytes=4 * 7 * updates * 3 * D**2,
        rate="torch float32",
        formula=f"6 D^3 + 6 rows D^2 flops an update, D = {D}, {rows:.0f} rows (distinct query "
        "tokens of a document); Adam, 28 bytes a weight",
    )
