"""SGD, Adam and AdamW on parameters with a leading run dimension, every setting per run.

The arithmetic is that of `torch.optim` (SGD with momentum and L2 weight decay; Adam, Kingma & Ba
2015, with L2 weight decay; AdamW, Loshchilov & Hutter 2019, with decoupled weight decay), so that
each run equals a single model trained with it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

MOMENTS = {"sgd": ("momentum",), "adam": ("first", "second"), "adamw": ("first", "second")}
PerRun = float | Sequence[float] | np.ndarray | Tensor


@dataclass(frozen=True, eq=False)
class Optimizer:
    """What updates the parameters; a number, or one number per run, wherever it says PerRun.

    `kind` is one of `MOMENTS`, for the ensemble or per run; `momentum` is of SGD, `beta1`, `beta2`
    and `eps` are of Adam and AdamW. `lr` and `weight_decay` may be given under each parameter's
    name. Weight decay is the gradient of half the squared norm for SGD and Adam, decoupled
    (multiplied with the learning rate) for AdamW. `schedule` is a factor on the learning rate at
    step t = 0, 1, ...; it must depend on t alone, so that training can resume.
    """

    kind: str | Sequence[str] = "sgd"
    lr: PerRun | Mapping[str, PerRun] = 1e-3
    momentum: PerRun = 0.0
    beta1: PerRun = 0.9
    beta2: PerRun = 0.999
    eps: PerRun = 1e-8
    weight_decay: PerRun | Mapping[str, PerRun] = 0.0
    schedule: Callable[[int], PerRun] | None = None


class Updater:
    """An optimizer at work for so many steps on parameters [runs, ...], changed in place.

    `state`, tensors [runs, ...] by name, is all that must be kept to go on later.

    Raises:
        ValueError: an unknown kind, a number of settings that is not the number of runs, a
            parameter without a learning rate, or a setting out of its bounds.
    """

    def __init__(self, optimizer: Optimizer, parameters: Mapping[str, Tensor], steps: int) -> None:
        self.parameters = parameters
        any_parameter = next(iter(parameters.values()))
        self.runs, self.device = len(any_parameter), any_parameter.device
        self.dtype = any_parameter.dtype
        self.momentum = self._settings("momentum", optimizer.momentum, below=1)
        self.beta1 = self._settings("beta1", optimizer.beta1, below=1)
        self.beta2 = self._settings("beta2", optimizer.beta2, below=1)
        self.eps = self._settings("eps", optimizer.eps)
        self.lr = self._by_parameter("lr", optimizer.lr)
        decays = self._by_parameter("weight_decay", optimizer.weight_decay)
        self.weight_decay = {n: decay for n, decay in decays.items() if bool((decay > 0).any())}
        self.groups = self._groups(optimizer.kind)
        self.state = self._empty_state()
        times = range(steps if optimizer.schedule else 0)
        factors = (torch.as_tensor(optimizer.schedule(t), dtype=torch.float64) for t in times)
        self.factors = [factor.to(self.device) for factor in factors]

    def _settings(self, name: str, values: PerRun, below: float = np.inf) -> Tensor:
        """A setting as float64 [runs]."""
        tensor = torch.as_tensor(values, dtype=torch.float64).to(self.device).reshape(-1)
        if len(tensor) not in (1, self.runs):
            raise ValueError(f"{name}: {len(tensor)} values for {self.runs} runs")
        if not bool(((tensor >= 0) & (tensor < below)).all()):
            raise ValueError(f"{name}: must be at least 0 and less than {below}")
        return tensor.expand(self.runs)

    def _by_parameter(self, name: str, values: PerRun | Mapping[str, PerRun]) -> dict[str, Tensor]:
        if not isinstance(values, Mapping):
            return dict.fromkeys(self.parameters, self._settings(name, values))
        if set(values) != set(self.parameters):
            wanted, given = ", ".join(sorted(self.parameters)), ", ".join(sorted(values))
            raise ValueError(f"{name}: needs a value for each of {wanted}; found {given}")
        return {key: self._settings(f"{name}.{key}", value) for key, value in values.items()}

    def _groups(self, kind: str | Sequence[str]) -> dict[str, slice | Tensor]:
        """Which runs each kind updates; a slice where they lie together, so that nothing copies."""
        kinds = np.array([kind] * self.runs if isinstance(kind, str) else list(kind))
        if len(kinds) != self.runs:
            raise ValueError(f"kind: {len(kinds)} values for {self.runs} runs")
        if unknown := sorted(set(kinds) - set(MOMENTS)):
            raise ValueError(f"kind: unknown {', '.join(unknown)}; known: {', '.join(MOMENTS)}")
        groups = {}
        for name in (known for known in MOMENTS if known in kinds):
            rows = np.flatnonzero(kinds == name)
            together = rows[-1] - rows[0] + 1 == len(rows)
            places = torch.from_numpy(rows).to(self.device)
            groups[name] = slice(int(rows[0]), int(rows[-1]) + 1) if together else places
        return groups

    def _empty_state(self) -> dict[str, Tensor]:
        """The state before the first step: zeros, only for the runs and moments that need it."""
        state = {}
        for kind, rows in self.groups.items():
            if kind == "sgd" and not bool((self.momentum[rows] > 0).any()):
                continue
            for name, parameter in self.parameters.items():
                for moment in MOMENTS[kind]:
                    state[f"{name}.{moment}.{kind}"] = torch.zeros_like(parameter[rows])
        return dict(sorted(state.items()))

    def forget(self, runs: Tensor) -> None:
        """Clear the state of frozen runs, bool [runs], so that nothing in it stays non-finite."""
        for name, tensor in self.state.items():
            tensor[runs[self.groups[name.rpartition(".")[2]]]] = 0

    @torch.no_grad()
    def update(self, gradients: Mapping[str, Tensor], step: int, alive: Tensor) -> None:
        """Update the parameters in place; gradients may be overwritten.

        Args:
            gradients: [runs, ...] by parameter, finite.
            step: 0 for the first update.
            alive: bool [runs]; the parameters of other runs stay as they are.
        """
        factor = alive.to(torch.float64)
        if self.factors:
            factor = factor * self.factors[step]
        for kind, rows in self.groups.items():
            one = _Step(self, kind, rows, step, factor[rows])
            update = one.sgd if kind == "sgd" else one.adam
            for name, parameter in self.parameters.items():
                part = parameter[rows]
                update(name, part, gradients[name][rows])
                if not isinstance(rows, slice):
                    parameter[rows] = part


class _Step:
    """One step of one kind's runs.

    Settings are small tensors [runs of the kind] in the parameters' type: made once for all
    parameters, since a hundred of them would take as long as a parameter. A parameter's `part` of
    these runs is updated in place.
    """

    def __init__(self, owner: Updater, kind: str, rows: slice | Tensor, step: int, factor: Tensor):
        self.owner, self.kind, self.rows, self.factor = owner, kind, rows, factor
        self.correction, self.rates = 1.0, {}
        if kind == "sgd":
            self.momentum = owner.momentum[rows].to(owner.dtype)
        else:
            # lr m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + eps), with the roots' factor moved
            # out of the large tensor.
            beta1, beta2 = owner.beta1[rows], owner.beta2[rows]
            root = (1 - beta2 ** (step + 1)).sqrt()
            self.correction = root / (1 - beta1 ** (step + 1))
            self.eps = (owner.eps[rows] * root).to(owner.dtype)
            self.keep1, self.keep2 = (1 - beta1).to(owner.dtype), (1 - beta2).to(owner.dtype)

    def sgd(self, name: str, part: Tensor, gradient: Tensor) -> None:
        step = gradient = self._with_l2(name, part, gradient)
        if (buffer := self.owner.state.get(f"{name}.momentum.sgd")) is not None:
            step = buffer.mul_(_per_run(self.momentum, part)).add_(gradient)
        part.addcmul_(self._rate(name, part), step, value=-1)

    def adam(self, name: str, part: Tensor, gradient: Tensor) -> None:
        if self.kind == "adam":
            gradient = self._with_l2(name, part, gradient)
        elif name in self.owner.weight_decay:
            decay = self.owner.weight_decay[name][self.rows]
            kept = 1 - self.owner.lr[name][self.rows] * self.factor * decay
            part.mul_(_per_run(kept.to(part.dtype), part))
        first, second = (self.owner.state[f"{name}.{m}.{self.kind}"] for m in ("first", "second"))
        first.lerp_(gradient, _per_run(self.keep1, part))
        buffer = gradient.square()
        second.lerp_(buffer, _per_run(self.keep2, part))
        torch.sqrt(second, out=buffer).add_(_per_run(self.eps, part))
        torch.div(first, buffer, out=buffer)
        part.addcmul_(buffer, self._rate(name, part), value=-1)

    def _rate(self, name: str, part: Tensor) -> Tensor:
        """Learning rate with schedule and bias correction, 0 for frozen runs."""
        lr = self.owner.lr[name]
        if id(lr) not in self.rates:
            self.rates[id(lr)] = (lr[self.rows] * self.factor * self.correction).to(part.dtype)
        return _per_run(self.rates[id(lr)], part)

    def _with_l2(self, name: str, part: Tensor, gradient: Tensor) -> Tensor:
        if name not in self.owner.weight_decay:
            return gradient
        decay = self.owner.weight_decay[name][self.rows].to(part.dtype)
        return gradient.addcmul(_per_run(decay, part), part)


def _per_run(values: Tensor, like: Tensor) -> Tensor:
    """Values per run, [runs], shaped to go with all of a parameter [runs, ...]."""
    return values.reshape(-1, *(1,) * (like.ndim - 1))
