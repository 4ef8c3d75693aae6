"""Training of many runs on masked documents, and the norms of those from near-zero matrices.

A run's seed decides its initial parameters and its order of documents: runs with equal seeds see
the same documents in the same order.
"""

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from onelayer.ensemble import Ensemble, Optimizer, RunRandom, Trained, train_in_chunks
from onelayer.ensemble.execution import Execution, to_device
from onelayer.seeds import generator
from onelayer.settings import topic_structure_synthetic as blocks
from onelayer.topic_structure.synthetic.data import CountRows, draw
from onelayer.topic_structure.synthetic.model import PARAMETERS, Batch, losses

NORMS = ("W_K", "W_Q", "W_V")


@lru_cache(maxsize=256)  # two epochs for every seed of a chunk
def _order(documents: int, seed: int, epoch: int) -> np.ndarray:
    return generator("order of documents", seed, epoch).permutation(documents)


def initial_parameters(
    random: RunRandom, embedding: blocks.EmbeddingKind, D: int, noise=None, dtype=torch.float32
) -> dict[str, Tensor]:
    """Initial values of all parameters, [runs, ...].

    `noise`, one per run: matrices are uniform in [0, noise) and biases 0, as the authors' code
    starts its two-stage runs. None: PyTorch's default for a linear layer, uniform in
    +-1 / sqrt(D), biases too; W_E is standard normal / sqrt(D). A token-type vector is standard
    normal, as an `nn.Embedding` starts in the authors' code.
    """
    start, scale = {}, D**-0.5
    for name in PARAMETERS[embedding]:
        shape = (D, D) if name.startswith("W") else (D,)
        normal = name == "token_type" or (name == "W_E" and noise is None)
        draw = random.normal if normal else random.uniform
        drawn = draw(*shape, use=f"initial {name}", dtype=dtype)
        if name == "gain":
            start[name] = torch.ones_like(drawn)
        elif name in ("b", "shift") or (name.startswith("b_") and noise is not None):
            start[name] = torch.zeros_like(drawn)
        elif name == "token_type":
            start[name] = drawn
        elif noise is not None:
            width = torch.tensor(noise, dtype=dtype).to(drawn.device)
            start[name] = drawn * width.reshape(-1, *[1] * len(shape))
        else:
            start[name] = (drawn if normal else 2 * drawn - 1) * scale
    return start


class Batches:
    """The documents (so many) of every step, epoch by epoch without replacement, per run's seed."""

    def __init__(
        self, rows: CountRows, seeds: list[int], documents: int, device="cpu", dtype=torch.float32
    ) -> None:
        self.documents, self.device = documents, device
        self.first, self.count = rows.first, np.diff(rows.first)
        self.seeds, group = np.unique(np.asarray(seeds), return_inverse=True)
        self.group = to_device(group if len(self.seeds) > 1 else [0], device)  # of each run, or all
        # The last row, without targets, pads the runs whose documents have fewer rows.
        self.query = to_device(np.append(rows.query, 0), device)
        self.document = to_device(np.append(rows.document, 0), device)
        self.log_keys = to_device(rows.keys, device).to(dtype).log()
        nothing = np.zeros((1, rows.keys.shape[1]), np.float32)
        self.targets = to_device(np.concatenate([rows.targets, nothing]), device).to(dtype)

    def drawn(self, seed: int, step: int) -> np.ndarray:
        """Documents of one seed's step, int64 [documents]."""
        count = len(self.first) - 1
        epoch, place = divmod(step, count // self.documents)
        return _order(count, int(seed), epoch)[place * self.documents :][: self.documents]

    def __call__(self, step: int) -> Batch:
        """The batch of a step."""
        documents = np.stack([self.drawn(seed, step) for seed in self.seeds])
        first, count = self.first[documents].ravel(), self.count[documents].ravel()
        rows = np.arange(count.sum()) + np.repeat(first - count.cumsum() + count, count)
        of_seeds = count.reshape(documents.shape).sum(1).tolist()
        drawn = torch.from_numpy(rows).split(of_seeds)
        row = pad_sequence(drawn, batch_first=True, padding_value=len(self.query) - 1)
        row = to_device(row, self.device)[self.group]
        log_keys = _rows(self.log_keys, self.document[row])
        return Batch(log_keys, self.query[row], _rows(self.targets, row))


def _rows(table: Tensor, index: Tensor) -> Tensor:
    """table[index]; several times as fast where rows are long."""
    return table.index_select(0, index.reshape(-1)).reshape(*index.shape, -1)


@dataclass(frozen=True)
class Run:
    """One run of an ensemble."""

    seed: int  # of initial values and the order of documents
    optimizer: str
    learning_rate: float
    weight_decay: float = 0.0  # the gradient of half of it times the squared norm
    noise: float | None = None  # width of near-zero initial matrices; None: PyTorch's default

    @property
    def label(self) -> str:
        """What messages call the run, and a state file is known by: every digit of its rates."""
        noise = "" if self.noise is None else f", noise {self.noise:.15g}"
        return f"{self.optimizer} {self.learning_rate:.15g}{noise}, seed {self.seed}"


def train_runs(
    base: blocks.SyntheticTraining,
    rows: CountRows,
    runs: Sequence[Run],
    embedding: blocks.EmbeddingKind,
    loss: blocks.LossKind,
    steps: int,
    observe: Callable[[dict[str, Tensor]], dict[str, Tensor]],
    observe_at: Iterable[int] = (),
    trained: Sequence[str] | None = None,
    fixed: Mapping[str, np.ndarray] | None = None,
    execution: Execution = Execution(),
) -> Trained:
    """Train runs on masked documents; they have initial noise either all or none.

    `trained` names the parameters that this stage trains, by default all of the embedding's;
    `fixed` gives the values, [D, D], of others. What is neither is no part of the model: see
    `model.images`. What `observe` makes of the trained parameters is kept after `observe_at`
    updates, by default at the end. The identity of `execution` must say which documents and which
    training these are.
    """
    constants = {name: to_device(W, execution.device).float() for name, W in (fixed or {}).items()}

    def loss_of(parameters: dict[str, Tensor], batch: Batch) -> Tensor:
        count = len(next(iter(parameters.values())))
        shared = {name: W.expand(count, -1, -1) for name, W in constants.items()}
        return losses(parameters | shared, batch, embedding, loss)

    def build(part: slice) -> Ensemble:
        table = pd.DataFrame(runs[part]).to_dict("list")
        noise = None if runs[0].noise is None else table["noise"]
        random = RunRandom(table["seed"], execution.device)
        start = initial_parameters(random, embedding, rows.keys.shape[1], noise)
        parameters = {name: start[name] for name in trained or PARAMETERS[embedding]}
        batches = Batches(rows, table["seed"], base.batch, execution.device)
        rates = {"lr": table["learning_rate"], "weight_decay": table["weight_decay"]}
        optimizer, labels = Optimizer(table["optimizer"], **rates), [r.label for r in runs[part]]
        return Ensemble(parameters, batches, optimizer, loss=loss_of, labels=labels)

    looks = {"observe": observe, "observe_at": tuple(observe_at) or (steps,), "loss_every": 10}
    return train_in_chunks(build, len(runs), base.chunk, steps, execution=execution, **looks)


def two_stages(
    base: blocks.SyntheticTraining, block: blocks.TwoStageSettings, execution=Execution()
) -> pd.DataFrame:
    """'Observation: two-stage optimization process': norms after every update from near zero on.

    Rows have the run, `step`, a column for each norm (NaN from divergence on), `diverged_at`.
    """
    planned = []
    for one in block.trainings:
        seeds = range(one.seeds or (block.map_seeds if one.is_map else block.seeds))
        for noise, rate, seed in itertools.product(one.noises, one.learning_rates, seeds):
            planned.append((one, Run(seed, one.optimizer, rate, noise=noise)))

    def model_of(item: tuple) -> tuple:  # runs of one model are trained together
        return item[0].embedding, item[0].loss, item[0].masked_attended

    planned.sort(key=lambda item: (*model_of(item), item[1].optimizer))
    parts = []
    for model, group in itertools.groupby(planned, model_of):
        (embedding, loss, attended), (trainings, runs) = model, zip(*group, strict=True)
        rows = draw(base.model, block, "two stages", masked_attended=attended)
        trained = train_runs(
            *(base, rows, runs, embedding, loss, block.steps),
            lambda p: {name: p[name].flatten(1).norm(dim=1) for name in NORMS},
            range(block.steps + 1),
            execution=execution.part("-".join(map(str, model))),
        )
        table = pd.DataFrame(runs)[["learning_rate", "noise", "seed"]]
        table.insert(0, "name", [one.name for one in trainings])
        table["diverged_at"] = trained.diverged_at.numpy()
        part = table.loc[table.index.repeat(block.steps + 1)]
        part["step"] = np.tile(trained.observed_at, len(runs))
        # What a run was frozen at is no norm of a training that went on.
        went_on = (part["diverged_at"] < 0) | (part["step"] < part["diverged_at"])
        for name in NORMS:
            part[name] = trained.observed[name].T.double().flatten().numpy()
            part[name] = part[name].where(went_on)
        parts.append(part)
    names = [one.name for one in block.trainings]
    in_order = {"key": lambda name: name.map(names.index), "kind": "stable"}
    return pd.concat(parts).sort_values("name", **in_order)
