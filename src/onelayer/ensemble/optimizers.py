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

    `state`, tensors [runs of a kind, ...] by name, is all that must be kept to go on later.

    Raises:
        ValueError: an unknown kind, a number of settings that is not the number of runs, a
            parameter without a learning rate, or a setting out of its bounds.
    """

    def __init__(self, optimizer: Optimizer, parameters: Mapping[str, Tensor], steps: int) -> None:
        self.parameters = parameters
        any_parameter = next(iter(parameters.values()))
        self.runs, self.device = len(any_parameter), any_parameter.device
        of = {
            n: self._settings(n, getattr(optimizer, n), 1) for n in ("momentum", "beta1", "beta2")
        }
        of["eps"] = self._settings("eps", optimizer.eps)
        lr = self._by_parameter("lr", optimizer.lr)
        decay = self._by_parameter("weight_decay", optimizer.weight_decay)
        kinds = [optimizer.kind] * self.runs if isinstance(optimizer.kind, str) else optimizer.kind
        if unknown := sorted(set(kinds) - set(MOMENTS)):
            raise ValueError(f"kind: unknown {', '.join(unknown)}; known: {', '.join(MOMENTS)}")
        if len(kinds) != self.runs:
            raise ValueError(f"kind: {len(kinds)} values for {self.runs} runs")
        places = {kind: np.flatnonzero(np.array(kinds) == kind) for kind in MOMENTS}
        self.groups = [
            _Group(kind, self._rows(runs), parameters, of, lr, decay)
            for kind, runs in places.items()
            if len(runs)
        ]
        self.state = dict(sorted(item for group in self.groups for item in group.state.items()))
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

    def _rows(self, runs: np.ndarray) -> slice | Tensor:
        """Places of runs; a slice where they lie together, so that nothing copies."""
        if runs[-1] - runs[0] + 1 == len(runs):
            return slice(int(runs[0]), int(runs[-1]) + 1)
        return torch.from_numpy(runs).to(self.device)

    def forget(self, runs: Tensor) -> None:
        """Clear the state of frozen runs, bool [runs], so that nothing in it stays non-finite."""
        for group in self.groups:
            for tensor in group.state.values():
                tensor[runs[group.rows]] = 0

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
        for group in self.groups:
            group.update(self.parameters, gradients, step, factor[group.rows])


class _Group:
    """The runs of one kind: their settings, [runs of the kind], and their moments.

    Parameters share a tensor of learning rates where they have one, so that a step computes it
    once: a hundred small tensors would take as long as a parameter.
    """

    def __init__(self, kind, rows, parameters, of, lr, decay) -> None:
        self.kind, self.rows = kind, rows
        self.dtype = next(iter(parameters.values())).dtype
        self.beta1, self.beta2, self.eps = (of[n][rows] for n in ("beta1", "beta2", "eps"))
        self.keep1, self.keep2 = ((1 - b).to(self.dtype) for b in (self.beta1, self.beta2))
        self.momentum = of["momentum"][rows].to(self.dtype)
        shared = {id(rates): rates[rows] for rates in lr.values()}
        self.lr = {name: shared[id(rates)] for name, rates in lr.items()}
        self.decay = {name: d[rows] for name, d in decay.items() if bool((d[rows] > 0).any())}
        needed = MOMENTS[kind] if kind != "sgd" or bool((self.momentum > 0).any()) else ()
        self.state = {
            f"{name}.{moment}.{kind}": torch.zeros_like(parameter[rows])
            for name, parameter in parameters.items()
            for moment in needed
        }

    def update(self, parameters, gradients, step: int, factor: Tensor) -> None:
        correction = 1.0
        if self.kind != "sgd":
            # lr m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + eps), with the roots' factor moved
            # out of the large tensor.
            root = (1 - self.beta2 ** (step + 1)).sqrt()
            correction, eps = (
                root / (1 - self.beta1 ** (step + 1)),
                (self.eps * root).to(self.dtype),
            )
        # With schedule and bias correction; 0 for frozen runs.
        rates = {id(lr): (lr * factor * correction).to(self.dtype) for lr in self.lr.values()}
        for name, parameter in parameters.items():
            part, gradient = parameter[self.rows], gradients[name][self.rows]
            if name in self.decay and self.kind == "adamw":
                kept = 1 - self.lr[name] * factor * self.decay[name]
                part.mul_(_per_run(kept.to(self.dtype), part))
            elif name in self.decay:
                decay = self.decay[name].to(self.dtype)
                gradient = gradient.addcmul(_per_run(decay, part), part)
            change = (
                self._sgd(name, gradient) if self.kind == "sgd" else self._adam(name, gradient, eps)
            )
            part.addcmul_(change, _per_run(rates[id(self.lr[name])], part), value=-1)
            if not isinstance(self.rows, slice):
                parameter[self.rows] = part

    def _sgd(self, name: str, gradient: Tensor) -> Tensor:
        if (buffer := self.state.get(f"{name}.momentum.sgd")) is None:
            return gradient
        return buffer.mul_(_per_run(self.momentum, buffer)).add_(gradient)

    def _adam(self, name: str, gradient: Tensor, eps: Tensor) -> Tensor:
        first, second = (self.state[f"{name}.{m}.{self.kind}"] for m in MOMENTS[self.kind])
        first.lerp_(gradient, _per_run(self.keep1, first))
        square = gradient.square()
        second.lerp_(square, _per_run(self.keep2, second))
        torch.sqrt(second, out=square).add_(_per_run(eps, square))
        return torch.div(first, square, out=square)


def _per_run(values: Tensor, like: Tensor) -> Tensor:
    """Values per run, [runs], shaped to go with all of a parameter [runs, ...]."""
    return values.reshape(-1, *(1,) * (like.ndim - 1))
