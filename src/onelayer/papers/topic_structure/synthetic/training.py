"""Runs of the synthetic experiments on ensembles: initial parameters, batches, training.

Each run has a seed: it decides the initial parameters and the order of documents. Runs with equal
seeds see the same documents in the same order.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from onelayer.compute.device import fitting, on_gpu, to_device
from onelayer.compute.ensemble import Ensemble, Optimizer, RunRandom, Trained, train_in_chunks
from onelayer.compute.execution import Execution
from onelayer.compute.seeds import generator
from onelayer.papers.topic_structure.synthetic.data import CountRows
from onelayer.papers.topic_structure.synthetic.model import (
    DocumentBatch,
    Embedding,
    Targets,
    gradients,
    shapes,
)
from onelayer.settings.topic_structure_synthetic import LossKind

STEPS_AT_ONCE = 32  # of which a GPU gets the batches together
# Padded to multiples of these there, so that there are few shapes.
ROWS, TARGETS = 64, 256


def initial_parameters(
    random: RunRandom,
    embedding: Embedding,
    D: int,
    noise: Sequence[float] | None = None,
    dtype: torch.dtype = torch.float32,
    d: int | None = None,
) -> dict[str, Tensor]:
    """Initial values of all parameters, [runs, ...].

    Args:
        random: draws that depend on each run's seed.
        embedding, D: which model, of how many ids.
        noise: width of near-zero matrices, one per run: uniform in [0, noise) with biases at 0, as
            the authors' code starts its two-stage runs. None: PyTorch's default for a linear
            layer, uniform in +-1/sqrt(d), biases too; W_E is standard normal / sqrt(d).
        d: dimensions of `trained` embeddings; D by default.

    A token-type vector is standard normal, as an `nn.Embedding` starts in the authors' code.
    """
    start, scale = {}, (d or D) ** -0.5
    for name, shape in shapes(embedding, D, d).items():
        uniform = random.uniform(*shape, use=f"initial {name}", dtype=dtype)
        if name in ("b", "shift") or (name.startswith("b_") and noise is not None):
            start[name] = torch.zeros_like(uniform)
        elif name == "gain":
            start[name] = torch.ones_like(uniform)
        elif name == "token_type" or (name == "W_E" and noise is None):
            normal = random.normal(*shape, use=f"initial {name}", dtype=dtype)
            start[name] = normal * scale if name == "W_E" else normal
        elif noise is None:
            start[name] = (2 * uniform - 1) * scale
        else:
            width = torch.tensor(noise, dtype=dtype).to(uniform.device)
            start[name] = uniform * width.reshape(-1, *[1] * len(shape))
    return start


class DocumentBatches:
    """Draws the documents of every step, epoch by epoch without replacement, per seed.

    There is a seed per run; a batch has `documents`, at most as many as there are in `rows`.
    """

    def __init__(
        self,
        rows: CountRows,
        seeds: Sequence[int],
        documents: int,
        device: str = "cpu",
        dtype: torch.dtype = torch.float32,
    ) -> None:
        self.rows, self.documents = rows, documents
        self.seeds, group = np.unique(np.asarray(seeds), return_inverse=True)
        in_order = len(self.seeds) == 1 or np.array_equal(group, np.arange(len(self.seeds)))
        self.group = None if in_order else to_device(group, device)
        self.log_keys = to_device(rows.keys, device).to(dtype).log()
        self.query = to_device(rows.query, device)
        document = rows.document
        self.document = to_device(document, device)
        row, token = rows.targets.nonzero()
        self.first_target = np.searchsorted(row, rows.first)
        D = rows.keys.shape[1]
        self.cell = (row - rows.first[document[row]]) * D + token  # within its document
        self.count = to_device(rows.targets[row, token], device).to(dtype)
        self.weight = to_device(rows.targets.sum(axis=1, keepdims=True), device).to(dtype)
        self.device = device
        self._block, self._first_of_block = (), -1
        self._order = lru_cache(maxsize=2 * len(self.seeds))(self._shuffle)

    def _shuffle(self, seed: int, epoch: int) -> np.ndarray:
        return generator("order of documents", seed, epoch).permutation(len(self.rows.keys))

    def drawn(self, seed: int, step: int) -> np.ndarray:
        """Documents of one seed's step, int64 [documents]."""
        epoch, place = divmod(step, len(self.rows.keys) // self.documents)
        first = place * self.documents
        return self._order(int(seed), epoch)[first : first + self.documents]

    def __call__(self, step: int) -> DocumentBatch:
        """The batch of a step."""
        row, target, cell, real_row, real = self._places(step)
        # What pads a group is some row without targets, and some target that is counted 0 times.
        weight = _rows(self.weight, row) * real_row.unsqueeze(-1)
        targets = Targets(cell, _rows(self.count, target) * real, weight)
        log_keys = _rows(self.log_keys, _rows(self.document, row))
        return DocumentBatch(log_keys, _rows(self.query, row), targets, self.group)

    def _places(self, step: int) -> tuple[Tensor, ...]:
        """`_of_steps` of one step, on the device; a GPU gets those of many steps together."""
        if not on_gpu(self.device):
            return tuple(to_device(array, self.device) for array in self._of_steps([step]))
        first = step - step % STEPS_AT_ONCE
        if first != self._first_of_block:
            arrays = self._of_steps(range(first, first + STEPS_AT_ONCE), (ROWS, TARGETS))
            shape = (STEPS_AT_ONCE, len(self.seeds), -1)
            self._block = [to_device(array.reshape(shape), self.device) for array in arrays]
            self._first_of_block = first
        return tuple(array[step - first] for array in self._block)

    def _of_steps(
        self, steps: Iterable[int], multiples: tuple[int, int] = (1, 1)
    ) -> tuple[np.ndarray, ...]:
        """Rows and targets of all groups of some steps, [steps * groups, ...].

        Rows, targets and their cells int64, then which rows and which targets are real, bool.
        """
        documents = np.stack([self.drawn(seed, step) for step in steps for seed in self.seeds])
        row, real_row, count = _ragged(self.rows.first, documents, multiples[0])
        target, real, targets_of = _ragged(self.first_target, documents, multiples[1])
        before = (count.cumsum(axis=1) - count) * self.rows.keys.shape[1]
        cell = np.zeros_like(target)
        cell[real] = self.cell[target[real]] + np.repeat(before.ravel(), targets_of.ravel())
        return row, target, cell, real_row, real


def _rows(table: Tensor, index: Tensor) -> Tensor:
    """table[index]; several times as fast where rows are long."""
    return table.index_select(0, index.reshape(-1)).reshape(*index.shape, *table.shape[1:])


def _ragged(
    first: np.ndarray, documents: np.ndarray, multiple: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Items of documents, one group's after the other, padded to the longest group.

    Args:
        first: first item of each document, int64 [all documents + 1].
        documents: int64 [groups, documents].
        multiple: of which the padded length is one.

    Returns:
        Items, int64 [groups, longest], zeros at the end; which of them are real, bool; and
        how many each document has, int64, as `documents`.
    """
    count = first[documents + 1] - first[documents]
    end = count.cumsum(axis=1)
    place = np.arange(-(-end[:, -1].max() // multiple) * multiple)
    real = place < end[:, -1:]
    items = np.zeros(real.shape, dtype=np.int64)
    start = np.repeat((first[documents] - (end - count)).ravel(), count.ravel())
    items[real] = start + np.broadcast_to(place, real.shape)[real]
    return items, real, count


@dataclass(frozen=True)
class Run:
    """One run of an ensemble.

    Attributes:
        seed: of initial values and the order of documents.
        optimizer: `adam` or `sgd`.
        learning_rate: constant.
        weight_decay: the gradient of half of it times the squared norm.
        noise: width of near-zero initial matrices; None for PyTorch's default.
    """

    seed: int
    optimizer: str
    learning_rate: float
    weight_decay: float = 0.0
    noise: float | None = None

    @property
    def label(self) -> str:
        """What messages call the run, and a state file is known by: every digit of its rates."""
        noise = "" if self.noise is None else f", noise {self.noise:.15g}"
        return f"{self.optimizer} {self.learning_rate:.15g}{noise}, seed {self.seed}"


@dataclass(frozen=True)
class Plan:
    """What is trained; the same for all runs.

    Attributes:
        batch: documents in a step.
        chunk: most runs in one tensor program on a CPU.
        steps: updates.
        embedding, loss: the model, as in `model.gradients`.
        trained: names of the trained parameters; None for all that are not frozen, but for b of
            `one_hot` and `residual`, which the authors freeze at 0.
        frozen: matrices that are not trained, by name, [D, D].
        d: dimensions of `trained` embeddings; D by default.
    """

    batch: int
    chunk: int
    steps: int
    embedding: Embedding
    loss: LossKind
    trained: tuple[str, ...] | None = None
    frozen: Mapping[str, np.ndarray] | None = None
    d: int | None = None


def train_runs(
    rows: CountRows,
    runs: Sequence[Run],
    plan: Plan,
    observe: Callable[[dict[str, Tensor]], dict[str, Tensor]],
    observe_at: Iterable[int] = (),
    execution: Execution = Execution(),
) -> Trained:
    """Train runs on masked documents.

    Runs of one optimiser should stand together: then no step copies their parameters.

    Args:
        runs, plan: what is trained; initial noise either for all or for none.
        observe: parameters, frozen ones too, -> tensors to keep.
        observe_at: after how many updates; the end by default.
        execution: where; its identity must say which documents and which plan these are.
    """
    device, frozen = execution.device, {}
    for name, matrix in (plan.frozen or {}).items():
        frozen[name] = to_device(matrix, device).to(torch.float32)

    def given(parameters: Mapping[str, Tensor]) -> dict[str, Tensor]:
        count = len(next(iter(parameters.values())))
        return {name: matrix.expand(count, -1, -1) for name, matrix in frozen.items()}

    def build(part: slice) -> Ensemble:
        chosen = runs[part]
        seeds = [run.seed for run in chosen]
        noise = None if chosen[0].noise is None else [run.noise for run in chosen]
        random = RunRandom(seeds, device)
        start = initial_parameters(random, plan.embedding, rows.keys.shape[1], noise, d=plan.d)
        fixed = {*frozen, *["b"] * (plan.embedding in ("one_hot", "residual"))}
        names = plan.trained or tuple(name for name in start if name not in fixed)
        return Ensemble(
            {name: start[name] for name in names},
            DocumentBatches(rows, seeds, plan.batch, device),
            Optimizer(
                [run.optimizer for run in chosen],
                lr=[run.learning_rate for run in chosen],
                weight_decay=[run.weight_decay for run in chosen],
            ),
            gradients=lambda p, batch: gradients(p, batch, plan.embedding, plan.loss, given(p)),
            labels=[run.label for run in chosen],
        )

    return train_in_chunks(
        build,
        len(runs),
        _most_runs(rows, plan, device),
        plan.steps,
        observe=lambda parameters: observe(parameters | given(parameters)),
        observe_at=tuple(observe_at) or (plan.steps,),
        loss_every=10,
        execution=execution,
    )


def _most_runs(rows: CountRows, plan: Plan, device: str) -> int:
    """Runs of one tensor program: what the plan says, on a GPU what its memory holds.

    A run has matrices D x D, among them three with gradient and two moments, and a batch's rows.
    """
    if not on_gpu(device):
        return plan.chunk
    D, of_batch = rows.keys.shape[1], plan.batch * len(rows.query) / len(rows.keys)
    return max(plan.chunk, fitting(4 * (24 * D * D + 10 * of_batch * D), device))
