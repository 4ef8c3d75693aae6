"""The training loop of an ensemble: steps, observations, frozen runs, checkpoints.

On a GPU the host launches steps and does not look at them: which runs are finite, which are frozen
and what they lost stays on the device, and the host asks every `LOOK_EVERY` steps.
"""

import hashlib
import json
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import torch
from torch import Tensor

from onelayer.compute.checkpoint import Checkpoint, under
from onelayer.compute.device import on_gpu
from onelayer.compute.ensemble.optimizers import Optimizer, Updater, per_run
from onelayer.compute.execution import Execution
from onelayer.compute.graphs import Graphed

log = logging.getLogger("onelayer")

Tensors = dict[str, Tensor]
NAMED_RUNS = 5  # diverged runs named one by one in the log; the others are counted
LOOK_EVERY = 100  # steps on a GPU after which the host asks which runs diverged
HELD_BYTES = 2**28  # observations that wait on a GPU before they are copied to the host


@dataclass(frozen=True, eq=False)
class Ensemble:
    """What is trained: initial parameters, data, an objective, an optimizer.

    Attributes:
        parameters: initial values by name, [runs, ...], all on one device and of one type; `train`
            works on copies.
        batch: the data of step t = 0, 1, ..., in whatever form the objective reads. It must depend
            on t alone (`RunRandom` does), so that training can resume, and give run i the same data
            whatever else is in the ensemble.
        optimizer: updates and their settings.
        loss: (parameters, batch) -> loss per run, [runs]; autograd does the rest. A run's loss may
            depend on that run's parameters alone.
        gradients: (parameters, batch) -> (loss per run, gradients by name), written by hand; in
            place of `loss`. The gradients may be overwritten.
        labels: one line per run that names its settings, for messages; empty for 'run 0', ...
    """

    parameters: Tensors
    batch: Callable[[int], Any]
    optimizer: Optimizer
    loss: Callable[[Tensors, Any], Tensor] | None = None
    gradients: Callable[[Tensors, Any], tuple[Tensor, Tensors]] | None = None
    labels: Sequence[str] = ()

    def __post_init__(self) -> None:
        if (self.loss is None) == (self.gradients is None):
            raise ValueError("an ensemble needs either a loss or gradients")
        if not isinstance(self.optimizer, Optimizer):
            given = type(self.optimizer).__name__
            raise ValueError(f"optimizer: must be an onelayer.Optimizer, found {given}")
        if not isinstance(self.parameters, Mapping):
            given = type(self.parameters).__name__
            raise ValueError(f"parameters: must be tensors by name, found {given}")
        for name, tensor in self.parameters.items():
            if not isinstance(tensor, Tensor) or not tensor.is_floating_point() or not tensor.ndim:
                raise ValueError(
                    f"parameters: {name} must be a tensor [runs, ...] of floating point, found "
                    f"{_form(tensor)}"
                )
        lengths = {name: len(tensor) for name, tensor in self.parameters.items()}
        if len(set(lengths.values())) != 1:
            raise ValueError(f"parameters: the run dimensions must agree, found {lengths}")
        if len(self.labels) not in (0, self.runs):
            raise ValueError(f"labels: {len(self.labels)} for {self.runs} runs")

    @property
    def runs(self) -> int:
        """Number of runs."""
        return len(next(iter(self.parameters.values())))

    def label(self, run: int) -> str:
        """What a message calls a run."""
        return f"run {run}" + (f" ({self.labels[run]})" if self.labels else "")


@dataclass(frozen=True, eq=False)
class Trained:
    """What training leaves; all tensors on the CPU.

    Attributes:
        parameters: final values by name, [runs, ...].
        losses: float64 [recorded steps, runs], before the update of every `loss_every`-th step;
            NaN for a frozen run from the step on at which it was frozen.
        observed: [observed steps, runs, ...] by name; rows of a frozen run hold what it was frozen
            at.
        observed_at: the steps of those rows: updates done, ascending.
        diverged_at: int64 [runs], the step at which loss or gradient was not finite and the run was
            frozen with the parameters it had; -1 for a run that went through.
    """

    parameters: Tensors
    losses: Tensor
    observed: Tensors
    observed_at: tuple[int, ...]
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
    """Train all runs for so many updates.

    Args:
        ensemble: what to train.
        steps: number of updates.
        observe: parameters -> tensors [runs, ...] to keep; without it the parameters themselves.
        observe_at: after how many updates to observe; 0 is the start, `steps` the end.
        loss_every: the losses of steps 0, loss_every, 2 loss_every, ... are kept.
        execution: where to keep the state, and the progress bar; the device is where the parameters
            are. If the file is there and is of this very training, training goes on from it; the
            last state stays there, for the step or whoever else has the result to remove. The
            checkpoint's identity must say what cannot be seen from parameters, optimizer, labels
            and steps, which are compared anyway: the settings of data and objective, the digest of
            the code.

    Raises:
        ValueError: settings that do not fit the runs, or steps outside 0 .. `steps`; at the first
            step, a loss or gradients, or what is observed, of another shape than is needed.
    """
    of_device = _GpuRun if on_gpu(_device_of(ensemble.parameters)) else _Run
    run = of_device(ensemble, steps, observe, observe_at, loss_every)
    checkpoint = _identified(execution.checkpoint, ensemble, steps, run.observe_at, loss_every)
    first = run.restore(checkpoint)
    with _subnormals_as_zero():
        if first == 0 and not run.observed:  # a training of no steps may have a state, too
            run.look(0)
        for step in execution.progress(range(first, steps), total=steps - first, unit="step"):
            run.advance(step)
            run.look(step + 1)
            checkpoint.write_if_due(run.state, step + 1)
    checkpoint.write(run.state, steps)
    return run.result()


def train_in_chunks(
    build: Callable[[slice], Ensemble],
    runs: int,
    chunk: int,
    steps: int,
    *,
    observe_at: Iterable[int] = (),
    execution: Execution = Execution(),
    **options: Any,
) -> Trained:
    """Train more runs than fit in memory, chunk after chunk.

    Each run is the same, to rounding, as in one large ensemble.

    Args:
        build: makes the ensemble of runs `slice(start, stop)`.
        runs: number of runs in all.
        chunk: most runs per ensemble.
        steps, observe_at: as `train`.
        execution: as `train`; each chunk has a state of its own, and one bar is for the steps of
            all.
        **options: further arguments of `train`.

    Raises:
        ValueError: chunk < 1, or what `train` raises.
    """
    if chunk < 1:
        raise ValueError(f"chunk = {chunk}: must be at least 1")
    slices = [slice(start, min(start + chunk, runs)) for start in range(0, runs, chunk)]
    total = len(slices) * steps
    bar = iter(execution.progress(range(total), total=total, unit="step"))
    execution = replace(
        execution, progress=lambda items, **_: (item for item, _ in zip(items, bar, strict=False))
    )
    options["observe_at"] = tuple(observe_at)
    parts = [
        train(build(some), steps, execution=execution.part(number), **options)
        for number, some in enumerate(slices)
    ]
    first = parts[0]
    return Trained(
        parameters={n: torch.cat([p.parameters[n] for p in parts]) for n in first.parameters},
        losses=torch.cat([part.losses for part in parts], dim=1),
        observed={n: torch.cat([p.observed[n] for p in parts], dim=1) for n in first.observed},
        observed_at=first.observed_at,
        diverged_at=torch.cat([part.diverged_at for part in parts]),
    )


def _form(value: object) -> str:
    """What a caller's function returned, for an error."""
    if isinstance(value, Tensor):
        return f"{str(value.dtype).removeprefix('torch.')} {list(value.shape)}"
    return type(value).__name__


def _check_loss(loss: object, runs: int) -> None:
    if not isinstance(loss, Tensor) or loss.shape != (runs,):
        raise ValueError(f"loss: one number per run is needed, [{runs}]; found {_form(loss)}")


def _check_tensors(what: str, tensors: object, parameters: Tensors | None, runs: int) -> None:
    """Refuse what is not tensors by name, of the parameters' names and shapes if there are any."""
    if not isinstance(tensors, Mapping):
        raise ValueError(f"{what}: must be tensors by name, found {_form(tensors)}")
    if parameters is not None and tensors.keys() != parameters.keys():
        names = [", ".join(sorted(side)) or "none" for side in (parameters, tensors)]
        raise ValueError(f"{what}: needs one for each of {names[0]}; found {names[1]}")
    for name, tensor in tensors.items():
        if parameters is None:
            fits = isinstance(tensor, Tensor) and tensor.shape[:1] == (runs,)
            needed = f"[{runs}, ...]"
        else:
            fits = isinstance(tensor, Tensor) and tensor.shape == parameters[name].shape
            needed = str(list(parameters[name].shape))
        if not fits:
            raise ValueError(f"{what}: {name} must be {needed}, found {_form(tensor)}")


def _device_of(parameters: Tensors) -> torch.device:
    return next(iter(parameters.values())).device


def _identified(
    checkpoint: Checkpoint,
    ensemble: Ensemble,
    steps: int,
    observe_at: Sequence[int],
    loss_every: int,
) -> Checkpoint:
    """The checkpoint with what it must agree on beside its own identity: the start and the plan."""
    if checkpoint.path is None:
        return checkpoint
    optimizer = vars(ensemble.optimizer) | {"schedule": None}
    if ensemble.optimizer.schedule is not None and steps:
        # A function has no digest; a few of its values stand for it.
        optimizer["schedule"] = [ensemble.optimizer.schedule(t) for t in (0, steps // 2, steps - 1)]
    plan = (checkpoint.identity, steps, tuple(observe_at), loss_every, list(ensemble.labels))
    plain = json.dumps([plan, optimizer], default=lambda numbers: torch.as_tensor(numbers).tolist())
    digest = hashlib.sha256(plain.encode())
    for name, tensor in sorted(ensemble.parameters.items()):
        digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}".encode())
        digest.update(tensor.detach().contiguous().cpu().numpy().tobytes())
    return replace(checkpoint, identity=digest.hexdigest())


@contextmanager
def _subnormals_as_zero() -> Iterator[None]:
    """Numbers below 1e-38 count as 0: processors take many times as long over them.

    A softmax that is nearly one-hot is full of them. Afterwards they count as they did before.
    """
    # torch does not say how they count, but its arithmetic does.
    before = bool(torch.tensor(1e-39) * 2 == 0)
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(before)


class _Run:
    """The state of a training between two steps."""

    def __init__(
        self,
        ensemble: Ensemble,
        steps: int,
        observe: Callable[[Tensors], Tensors] | None,
        observe_at: Iterable[int],
        loss_every: int,
    ) -> None:
        self.ensemble, self.observe, self.loss_every = ensemble, observe, loss_every
        if not isinstance(steps, Integral) or steps < 0:
            raise ValueError(f"steps = {steps!r}: must be a whole number of at least 0")
        self.observe_at = tuple(sorted(set(observe_at)))
        if self.observe_at and not 0 <= self.observe_at[0] <= self.observe_at[-1] <= steps:
            raise ValueError(f"observe_at: must lie in 0 .. {steps}, found {self.observe_at}")
        if loss_every < 1:
            raise ValueError(f"loss_every = {loss_every}: must be at least 1")
        by_hand = ensemble.gradients is not None
        self.parameters = {
            name: tensor.detach().clone().requires_grad_(not by_hand)
            for name, tensor in ensemble.parameters.items()
        }
        self.values = {name: tensor.detach() for name, tensor in self.parameters.items()}
        device = _device_of(self.values)
        self.updater = Updater(ensemble.optimizer, self.values, steps)
        self.diverged_at = torch.full((ensemble.runs,), -1, device=device)
        self.all_alive = True
        recorded = -(-steps // loss_every)
        self.losses = torch.full(
            (recorded, ensemble.runs), torch.nan, dtype=torch.float64, device=device
        )
        self.observed: dict[str, list[Tensor]] = {}
        self._bytes_waiting = 0

    def advance(self, step: int) -> None:
        """One update of every run that is alive."""
        loss, gradients = self._gradients(self.ensemble.batch(step))
        alive = self.diverged_at < 0
        finite = _finite(loss, gradients)
        if not bool((finite | ~alive).all()):
            self._freeze(alive & ~finite, step)
            alive &= finite
        if step % self.loss_every == 0:
            row = torch.where(alive, loss.to(torch.float64), torch.nan)
            self.losses[step // self.loss_every] = row
        if not self.all_alive:
            for gradient in gradients.values():
                gradient[~alive] = 0
        self.updater.update(gradients, step, alive)

    def _gradients(self, batch: Any) -> tuple[Tensor, Tensors]:
        if self.ensemble.gradients is not None:
            with torch.no_grad():
                computed = self.ensemble.gradients(self.values, batch)
            if not isinstance(computed, tuple) or len(computed) != 2:
                raise ValueError(f"gradients: (loss, gradients) is needed, found {_form(computed)}")
            _check_loss(computed[0], self.ensemble.runs)
            _check_tensors("gradients", computed[1], self.values, self.ensemble.runs)
            return computed
        loss = self.ensemble.loss(self.parameters, batch)
        _check_loss(loss, self.ensemble.runs)
        if loss.grad_fn is None:
            raise ValueError("loss: depends on no parameter")
        # The sum keeps runs apart: the derivative of each loss with respect to its own run.
        of_all = torch.autograd.grad(loss.sum(), list(self.parameters.values()), allow_unused=True)
        if idle := [n for n, one in zip(self.parameters, of_all, strict=True) if one is None]:
            raise ValueError(f"loss: does not depend on {', '.join(idle)}")
        return loss.detach(), dict(zip(self.parameters, of_all, strict=True))

    def _freeze(self, runs: Tensor, step: int) -> None:
        self.diverged_at[runs] = step
        self.all_alive = False
        self.updater.forget(runs)
        self._warn(runs.nonzero().flatten().tolist(), step)

    def _warn(self, frozen: Sequence[int], step: int) -> None:
        for run in frozen[:NAMED_RUNS]:
            name = self.ensemble.label(run)
            log.warning("%s: not finite at step %d; frozen there, the others go on", name, step)
        if (more := len(frozen) - NAMED_RUNS) > 0:
            log.warning("%d more runs: not finite at step %d", more, step)

    def look(self, step: int) -> None:
        """Keep what is asked for after `step` updates, on a GPU until there is much of it."""
        if step not in self.observe_at:
            return
        with torch.no_grad():
            seen = self.observe(self.values) if self.observe else self.values
        _check_tensors("observe", seen, None, self.ensemble.runs)
        for name, tensor in seen.items():
            self.observed.setdefault(name, []).append(tensor.detach().clone())
            self._bytes_waiting += tensor.nbytes
        if self._bytes_waiting > HELD_BYTES:
            self._fetch()

    def _fetch(self) -> None:
        """Bring what was observed to the host."""
        for name, rows in self.observed.items():
            if there := [tensor for tensor in rows if on_gpu(tensor.device)]:
                here = torch.stack(there).cpu().unbind()
                self.observed[name] = [*rows[: len(rows) - len(there)], *here]
        self._bytes_waiting = 0

    def state(self) -> Tensors:
        """Everything that the next step depends on, and everything kept so far."""
        self._fetch()
        tensors = {"losses": self.losses, "diverged_at": self.diverged_at}
        tensors |= {f"parameter/{name}": tensor for name, tensor in self.values.items()}
        tensors |= {f"optimizer/{name}": tensor for name, tensor in self.updater.state.items()}
        return tensors | {f"observed/{name}": torch.stack(t) for name, t in self.observed.items()}

    def restore(self, checkpoint: Checkpoint) -> int:
        """Take up a checkpoint's state if there is one; returns the number of updates done."""
        saved = checkpoint.read()
        if saved is None:
            return 0
        tensors, step = saved
        for name, tensor in self.state().items():
            tensor.copy_(tensors[name])
        self.observed = {n: list(t.unbind()) for n, t in under("observed", tensors).items()}
        self.all_alive = bool((self.diverged_at < 0).all())
        log.info("going on from step %d", step)
        return step

    def result(self) -> Trained:
        """What training leaves."""
        self._fetch()
        return Trained(
            parameters={name: tensor.cpu() for name, tensor in self.values.items()},
            losses=self.losses.cpu(),
            observed={name: torch.stack(tensors) for name, tensors in self.observed.items()},
            observed_at=self.observe_at,
            diverged_at=self.diverged_at.cpu(),
        )


class _GpuRun(_Run):
    """The same on a GPU, where the host never waits for a step."""

    def __init__(self, ensemble: Ensemble, steps: int, *observed: Any) -> None:
        super().__init__(ensemble, steps, *observed)
        self.steps, self.warned_at = steps, torch.full((ensemble.runs,), -1)
        self.now = torch.zeros_like(self.diverged_at[0])  # updates done, where kernels read it
        self._graphed = Graphed(self._update, self.now.device)

    def advance(self, step: int) -> None:
        """One update of every run that is alive; what the host learns of it, it learns later."""
        row = self._graphed(self.ensemble.batch(step))
        if step % self.loss_every == 0:
            self.losses[step // self.loss_every].copy_(row)
        if (step + 1) % LOOK_EVERY == 0 or step + 1 == self.steps:
            self._ask()

    def _update(self, batch: Any) -> Tensor:
        """One update; the losses of the runs that are alive, [runs]. Changes tensors alone."""
        loss, gradients = self._gradients(batch)
        alive, finite = self.diverged_at < 0, _finite(loss, gradients)
        self.diverged_at.copy_(torch.where(alive & ~finite, self.now, self.diverged_at))
        alive &= finite
        gradients = {n: g.masked_fill(~per_run(alive, g), 0) for n, g in gradients.items()}
        self.updater.update(gradients, self.now, alive)
        self.now += 1
        return torch.where(alive, loss.to(torch.float64), torch.nan)

    def _ask(self) -> None:
        """Name the runs that were frozen since the host asked last."""
        diverged = self.diverged_at.cpu()
        new = torch.where(self.warned_at < 0, diverged, -1)
        for step in sorted({int(step) for step in new if step >= 0}):
            self._warn(torch.nonzero(new == step).flatten().tolist(), step)
        self.warned_at = diverged

    def restore(self, checkpoint: Checkpoint) -> int:
        """Take up a checkpoint's state if there is one; returns the number of updates done."""
        step = super().restore(checkpoint)
        self.now.fill_(step)
        self.warned_at = self.diverged_at.cpu()
        return step


def _finite(loss: Tensor, gradients: Tensors) -> Tensor:
    """Whether loss and gradients of every run are, bool [runs]."""
    finite = torch.isfinite(loss)
    for gradient in gradients.values():
        # A sum of finite numbers is finite, short of numbers that are lost anyway.
        finite &= torch.isfinite(gradient.reshape(len(loss), -1).sum(1))
    return finite
