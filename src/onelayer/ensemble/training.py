"""The training loop of an ensemble: steps, observations, frozen runs, checkpoints."""

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from onelayer.ensemble.execution import Execution
from onelayer.ensemble.optimizers import Optimizer, Updater

log = logging.getLogger("onelayer")

Tensors = dict[str, Tensor]


@dataclass(frozen=True, eq=False)
class Ensemble:
    """What is trained: initial parameters, data, an objective, an optimizer."""

    parameters: Tensors  # initial values by name, [runs, ...], all on one device and of one type
    # The data of step t = 0, 1, ..., of t alone (`RunRandom`), so that training can resume.
    batch: Callable[[int], Any]
    optimizer: Optimizer
    # (parameters, batch) -> loss per run, [runs], each of that run's parameters alone; or else
    # (parameters, batch) -> (loss per run, gradients by name, which may be overwritten).
    loss: Callable[[Tensors, Any], Tensor] | None = None
    gradients: Callable[[Tensors, Any], tuple[Tensor, Tensors]] | None = None
    labels: Sequence[str] = ()  # a line per run that names its settings; empty for 'run 0', ...


@dataclass(frozen=True, eq=False)
class Trained:
    """What training leaves; all tensors on the CPU."""

    parameters: Tensors  # final values by name, [runs, ...]
    losses: Tensor  # float64 [recorded steps, runs], before a step's update; NaN of frozen runs
    observed: Tensors  # [observed steps, runs, ...] by name; a frozen run has what it was frozen at
    observed_at: tuple[int, ...]  # updates done by then, ascending
    # int64 [runs]: the step at which loss or gradient was not finite and the run was frozen, or -1.
    diverged_at: Tensor


def train(
    ensemble: Ensemble,
    steps: int,
    *,
    observe: Callable[[Tensors], Tensors] | None = None,
    observe_at: Iterable[int] = (),
    loss_every: int = 1,
    execution: Execution = Execution(),
) -> Trained:
    """Train all runs for so many updates, `steps`.

    Args:
        observe: parameters -> tensors [runs, ...] to keep; without it the parameters themselves.
        observe_at: after how many updates to observe; 0 is the start, `steps` the end.
        loss_every: the losses of steps 0, loss_every, 2 loss_every, ... are kept.
        execution: the checkpoint's identity must say what is trained: settings, data, code. The
            device is where the parameters are.

    Settings that do not fit, and a loss that is not one number per run, are a `ValueError`.
    """
    run = _Run(ensemble, steps, observe, tuple(sorted(set(observe_at))), loss_every)
    plan = f"{execution.checkpoint.identity} {steps} {run.observe_at} {ensemble.labels}"
    checkpoint = replace(execution.checkpoint, identity=plan)
    kept, first = checkpoint.read()
    if kept:
        for name, tensor in run.state().items():
            tensor.copy_(kept[name])
        for name, tensor in kept.items():
            if name.startswith("observed/"):
                run.observed[name.removeprefix("observed/")] = list(tensor.unbind())
        log.info("going on from step %d", first)
    # Numbers below 1e-38 count as 0: a softmax that is nearly one-hot is full of them, slowly.
    before = bool(torch.tensor(1e-39) * 2 == 0)  # torch does not say, but its arithmetic does
    torch.set_flush_denormal(True)
    try:
        if not kept:
            run.look(0)
        for step in execution.progress(range(first, steps), total=steps - first, unit="step"):
            run.advance(step)
            run.look(step + 1)
            checkpoint.write_if_due(run.state, step + 1)
    finally:
        torch.set_flush_denormal(before)
    checkpoint.write(run.state, steps)
    return Trained(
        parameters={name: tensor.cpu() for name, tensor in run.values.items()},
        losses=run.losses.cpu(),
        observed={name: torch.stack(tensors) for name, tensors in run.observed.items()},
        observed_at=run.observe_at,
        diverged_at=run.diverged_at.cpu(),
    )


def train_in_chunks(
    build: Callable[[slice], Ensemble],
    runs: int,
    chunk: int,
    steps: int,
    *,
    execution: Execution = Execution(),
    **options: Any,
) -> Trained:
    """Train more runs than fit in memory, at most `chunk` at a time, each with a state of its own.

    `build` makes the ensemble of runs `slice(start, stop)`; `options` are of `train`.
    """
    parts = []
    for number, start in enumerate(range(0, runs, chunk)):
        part = build(slice(start, min(start + chunk, runs)))
        parts.append(train(part, steps, execution=execution.part(number), **options))
    one = parts[0]
    return Trained(
        parameters={n: torch.cat([p.parameters[n] for p in parts]) for n in one.parameters},
        losses=torch.cat([part.losses for part in parts], dim=1),
        observed={n: torch.cat([p.observed[n] for p in parts], dim=1) for n in one.observed},
        observed_at=one.observed_at,
        diverged_at=torch.cat([part.diverged_at for part in parts]),
    )


class _Run:
    """The state of a training between two steps."""

    def __init__(self, ensemble, steps, observe, observe_at, loss_every) -> None:
        self.ensemble, self.loss_every = ensemble, loss_every
        self.observe, self.observe_at = observe, observe_at
        if observe_at and not 0 <= observe_at[0] <= observe_at[-1] <= steps:
            raise ValueError(f"observe_at: must lie in 0 .. {steps}, found {observe_at}")
        copies = {name: tensor.detach().clone() for name, tensor in ensemble.parameters.items()}
        autograd = ensemble.gradients is None
        self.parameters = {name: copy.requires_grad_(autograd) for name, copy in copies.items()}
        self.values = {name: tensor.detach() for name, tensor in self.parameters.items()}
        self.updater = Updater(ensemble.optimizer, self.values)
        runs, device = self.updater.runs, self.updater.device
        self.diverged_at = torch.full((runs,), -1, device=device)
        recorded = -(-steps // loss_every), runs
        self.losses = torch.full(recorded, torch.nan, dtype=torch.float64, device=device)
        self.observed: dict[str, list[Tensor]] = {}

    def advance(self, step: int) -> None:
        """One update of every run that is alive."""
        batch = self.ensemble.batch(step)
        if self.ensemble.gradients is not None:
            with torch.no_grad():
                loss, gradients = self.ensemble.gradients(self.values, batch)
        else:
            loss = self.ensemble.loss(self.parameters, batch)
            if loss.shape != self.diverged_at.shape:
                raise ValueError(f"loss: needs a number for each run; found {list(loss.shape)}")
            # The sum keeps runs apart: the derivative of each loss with respect to its own run.
            slopes = torch.autograd.grad(loss.sum(), list(self.parameters.values()))
            loss, gradients = loss.detach(), dict(zip(self.parameters, slopes, strict=True))
        alive, finite = self.diverged_at < 0, torch.isfinite(loss)
        for gradient in gradients.values():
            # A sum of finite numbers is finite, short of numbers that are lost anyway.
            finite &= torch.isfinite(gradient.reshape(len(loss), -1).sum(1))
        if bool((alive & ~finite).any()):
            frozen = alive & ~finite
            self.diverged_at[frozen] = step
            self.updater.forget(frozen)
            names = [f"run {run}" for run in range(len(loss))]
            names = np.array(self.ensemble.labels or names)[frozen.cpu().numpy()]
            more = f" and {len(names) - 5} more" if len(names) > 5 else ""
            log.warning("%s%s: not finite at step %d; frozen", "; ".join(names[:5]), more, step)
        alive &= finite
        if step % self.loss_every == 0:
            self.losses[step // self.loss_every] = torch.where(alive, loss.double(), torch.nan)
        if not bool(alive.all()):
            for gradient in gradients.values():
                gradient[~alive] = 0
        self.updater.update(gradients, step, alive)

    def look(self, step: int) -> None:
        """Keep what is asked for after `step` updates."""
        if step in self.observe_at:
            with torch.no_grad():
                seen = self.observe(self.values) if self.observe else self.values
            for name, tensor in seen.items():
                self.observed.setdefault(name, []).append(tensor.detach().to("cpu", copy=True))

    def state(self) -> Tensors:
        """Everything that the next step depends on, and everything kept so far."""
        tensors = {"losses": self.losses, "diverged_at": self.diverged_at}
        tensors |= {f"parameter/{name}": tensor for name, tensor in self.values.items()}
        tensors |= {f"optimizer/{name}": tensor for name, tensor in self.updater.state.items()}
        return tensors | {f"observed/{name}": torch.stack(t) for name, t in self.observed.items()}
