"""SGD, Adam and AdamW on parameters with a leading run dimension, rates and decay per run.

Each run equals a single model trained by `torch.optim` (SGD with momentum and Adam, Kingma & Ba
2015, with L2 weight decay; AdamW, Loshchilov & Hutter 2019, with decoupled weight decay).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

MOMENTS = {"sgd": ("momentum",), "adam": ("first", "second"), "adamw": ("first", "second")}
PerRun = float | Sequence[float] | np.ndarray | Tensor


@dataclass(frozen=True, eq=False)
class Optimizer:
    """What updates the parameters; a mapping gives a setting for each parameter by name."""

    kind: str | Sequence[str] = "sgd"  # one of `MOMENTS`, for the ensemble or per run
    lr: PerRun | Mapping[str, PerRun] = 1e-3
    momentum: float = 0.0  # of SGD
    beta1: float = 0.9  # this and the next two of Adam and AdamW
    beta2: float = 0.999
    eps: float = 1e-8
    # The gradient of half the squared norm for SGD and Adam; times the learning rate for AdamW.
    weight_decay: PerRun | Mapping[str, PerRun] = 0.0
    # A factor on the rate at step t = 0, 1, ..., of t alone, so that training can resume: for all,
    # [runs] or [parameters, runs].
    schedule: Callable[[int], PerRun] | None = None


class Updater:
    """An optimizer at work on parameters [runs, ...], changed in place.

    `state`, tensors [runs of a kind, ...] by name, is all that must be kept to go on later.
    Settings that do not fit the runs and parameters are a `ValueError`.
    """

    def __init__(self, optimizer: Optimizer, parameters: Mapping[str, Tensor]) -> None:
        self.optimizer, self.parameters = optimizer, parameters
        any_parameter = next(iter(parameters.values()))
        self.runs, self.device = len(any_parameter), any_parameter.device
        self.lr = self._table("lr", optimizer.lr)
        self.decay = self._table("weight_decay", optimizer.weight_decay)
        kinds = np.broadcast_to(optimizer.kind, self.runs)
        if unknown := sorted(set(kinds) - set(MOMENTS)):
            raise ValueError(f"kind: unknown {', '.join(unknown)}; known: {', '.join(MOMENTS)}")
        # Of each kind its runs, and for each parameter whether decay does anything to it.
        self.groups, self.state = [], {}
        for kind in sorted(set(kinds)):
            runs = np.flatnonzero(kinds == kind)
            rows = slice(runs[0], runs[-1] + 1)  # no copy where the runs lie together
            if len(runs) < rows.stop - rows.start:
                rows = torch.from_numpy(runs).to(self.device)
            self.groups.append((kind, rows, (self.decay[:, rows] > 0).any(dim=1).tolist()))
            for moment in MOMENTS[kind] if kind != "sgd" or optimizer.momentum > 0 else ():
                for name, parameter in parameters.items():
                    self.state[f"{name}.{moment}.{kind}"] = torch.zeros_like(parameter[rows])

    def _table(self, name: str, given: PerRun | Mapping[str, PerRun]) -> Tensor:
        """A setting of every parameter and run, float64 [parameters, runs]."""
        if not isinstance(given, Mapping):
            given = dict.fromkeys(self.parameters, given)
        if set(given) != set(self.parameters):
            wanted, found = ", ".join(sorted(self.parameters)), ", ".join(sorted(given))
            raise ValueError(f"{name}: needs a value for each of {wanted}; found {found}")
        rows = [torch.as_tensor(given[n], dtype=torch.float64).reshape(-1) for n in self.parameters]
        if wrong := [len(row) for row in rows if len(row) not in (1, self.runs)]:
            raise ValueError(f"{name}: {wrong[0]} values for {self.runs} runs")
        return torch.stack([row.to(self.device).expand(self.runs) for row in rows])

    def forget(self, runs: Tensor) -> None:
        """Clear the state of frozen runs, bool [runs], so that nothing in it stays non-finite."""
        rows = {kind: rows for kind, rows, _ in self.groups}
        for name, tensor in self.state.items():
            tensor[runs[rows[name.rpartition(".")[2]]]] = 0

    @torch.no_grad()
    def update(self, gradients: Mapping[str, Tensor], step: int, alive: Tensor) -> None:
        """Step 0, 1, ...: finite gradients, [runs, ...], change the runs that are `alive`, bool."""
        beta1, beta2 = self.optimizer.beta1, self.optimizer.beta2
        rates = self.lr * alive  # 0 for frozen runs
        if self.optimizer.schedule:
            factor = torch.as_tensor(self.optimizer.schedule(step), dtype=torch.float64)
            rates = rates * factor.to(self.device)
        kept = 1 - rates * self.decay
        # Adam's lr m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + eps), with the root's factor
        # moved out of the large tensor.
        root = math.sqrt(1 - beta2 ** (step + 1))
        for kind, rows, decays in self.groups:
            correction = root / (1 - beta1 ** (step + 1)) if kind != "sgd" else 1.0
            for place, (name, parameter) in enumerate(self.parameters.items()):
                part, change = parameter[rows], gradients[name][rows]
                if decays[place] and kind == "adamw":
                    part.mul_(_per_run(kept[place, rows], part))
                elif decays[place]:
                    change = change.addcmul(_per_run(self.decay[place, rows], part), part)
                first, *second = (self.state.get(f"{name}.{m}.{kind}") for m in MOMENTS[kind])
                if second:
                    first.lerp_(change, 1 - beta1)
                    square = change.square()
                    second[0].lerp_(square, 1 - beta2)
                    torch.sqrt(second[0], out=square).add_(self.optimizer.eps * root)
                    change = torch.div(first, square, out=square)
                elif first is not None:
                    change = first.mul_(self.optimizer.momentum).add_(change)
                part.addcmul_(change, _per_run(rates[place, rows] * correction, part), value=-1)
                if not isinstance(rows, slice):
                    parameter[rows] = part


def _per_run(values: Tensor, like: Tensor) -> Tensor:
    """Values per run, [runs], shaped to go with all of a parameter [runs, ...]."""
    return values.to(like.dtype).reshape(-1, *(1,) * (like.ndim - 1))
