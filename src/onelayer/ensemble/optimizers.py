"""SGD, Adam and AdamW on parameters with a leading run dimension, rates and decay per run.

The arithmetic is that of `torch.optim` (SGD with momentum and L2 weight decay; Adam, Kingma & Ba
2015, with L2 weight decay; AdamW, Loshchilov & Hutter 2019, with decoupled weight decay), so that
each run equals a single model trained with it.
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
    # A factor on the rate at step t = 0, 1, ..., of t alone, so that training can resume.
    schedule: Callable[[int], PerRun] | None = None


class Updater:
    """An optimizer at work for so many steps on parameters [runs, ...], changed in place.

    `state`, tensors [runs of a kind, ...] by name, is all that must be kept to go on later.

    Raises:
        ValueError: settings out of their bounds, or not those of the runs and parameters.
    """

    def __init__(self, optimizer: Optimizer, parameters: Mapping[str, Tensor], steps: int) -> None:
        self.optimizer, self.parameters = optimizer, parameters
        any_parameter = next(iter(parameters.values()))
        self.runs, self.device = len(any_parameter), any_parameter.device
        for name in ("momentum", "beta1", "beta2"):
            if not 0 <= getattr(optimizer, name) < 1:
                raise ValueError(f"{name}: must be at least 0 and less than 1")
        self.lr, self.decay = (
            self._table(n, getattr(optimizer, n)) for n in ("lr", "weight_decay")
        )
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
        times = range(steps if optimizer.schedule else 0)
        factors = (torch.as_tensor(optimizer.schedule(t), dtype=torch.float64) for t in times)
        self.factors = [factor.to(self.device) for factor in factors]

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
        table = torch.stack([row.to(self.device).expand(self.runs) for row in rows])
        if not bool(((table >= 0) & (table < torch.inf)).all()):
            raise ValueError(f"{name}: must be at least 0 and finite")
        return table

    def forget(self, runs: Tensor) -> None:
        """Clear the state of frozen runs, bool [runs], so that nothing in it stays non-finite."""
        rows = {kind: rows for kind, rows, _ in self.groups}
        for name, tensor in self.state.items():
            tensor[runs[rows[name.rpartition(".")[2]]]] = 0

    @torch.no_grad()
    def update(self, gradients: Mapping[str, Tensor], step: int, alive: Tensor) -> None:
        """Step 0, 1, ...: finite gradients, [runs, ...], change the runs that are `alive`, bool."""
        rates = self.lr * alive  # 0 for frozen runs
        if self.factors:
            rates = rates * self.factors[step]
        kept = 1 - rates * self.decay
        for kind, rows, decays in self.groups:
            # Adam's lr m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + eps), with the roots' factor
            # moved out of the large tensor.
            root = math.sqrt(1 - self.optimizer.beta2 ** (step + 1))
            correction = root / (1 - self.optimizer.beta1 ** (step + 1)) if kind != "sgd" else 1.0
            for place, (name, parameter) in enumerate(self.parameters.items()):
                part, gradient = parameter[rows], gradients[name][rows]
                if decays[place] and kind == "adamw":
                    part.mul_(_per_run(kept[place, rows], part))
                elif decays[place]:
                    gradient = gradient.addcmul(_per_run(self.decay[place, rows], part), part)
                moments = [self.state.get(f"{name}.{moment}.{kind}") for moment in MOMENTS[kind]]
                change = self._change(moments, gradient, root)
                part.addcmul_(change, _per_run(rates[place, rows] * correction, part), value=-1)
                if not isinstance(rows, slice):
                    parameter[rows] = part

    def _change(self, moments: list[Tensor | None], gradient: Tensor, root: float) -> Tensor:
        """What is taken off a parameter, but for its rate; the moments are updated."""
        if moments == [None]:
            return gradient
        first, *second = moments
        if not second:
            return first.mul_(self.optimizer.momentum).add_(gradient)
        first.lerp_(gradient, 1 - self.optimizer.beta1)
        square = gradient.square()
        second[0].lerp_(square, 1 - self.optimizer.beta2)
        torch.sqrt(second[0], out=square).add_(self.optimizer.eps * root)
        return torch.div(first, square, out=square)


def _per_run(values: Tensor, like: Tensor) -> Tensor:
    """Values per run, [runs], shaped to go with all of a parameter [runs, ...]."""
    return values.to(like.dtype).reshape(-1, *(1,) * (like.ndim - 1))
