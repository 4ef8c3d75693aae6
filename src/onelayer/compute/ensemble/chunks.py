"""More runs than fit in memory at once: one ensemble after the other, joined at the end."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import torch

from onelayer.compute.checkpoint import Checkpoint, under
from onelayer.compute.ensemble.training import Ensemble, Trained, identified, train
from onelayer.compute.execution import Execution


def train_in_chunks(
    build: Callable[[slice], Ensemble],
    runs: int,
    chunk: int,
    steps: int,
    *,
    observe_at: Iterable[int] = (),
    loss_every: int = 1,
    execution: Execution = Execution(),
    **options: Any,
) -> Trained:
    """Train runs chunk after chunk; each run is the same, to rounding, as in one large ensemble.

    Args:
        build: makes the ensemble of runs `slice(start, stop)`.
        runs: number of runs in all.
        chunk: most runs per ensemble.
        steps, observe_at, loss_every: as `train`.
        execution: as `train`; finished chunks stay beside the state until the last one is done, and
            one bar is for the steps of all chunks.
        **options: further arguments of `train`.

    Raises:
        ValueError: chunk < 1, or what `train` raises.
    """
    if chunk < 1:
        raise ValueError(f"chunk = {chunk}: must be at least 1")
    parts = [slice(start, min(start + chunk, runs)) for start in range(0, runs, chunk)]
    plan = {"observe_at": tuple(sorted(set(observe_at))), "loss_every": loss_every}
    total = len(parts) * steps
    bar = iter(execution.progress(range(total), total=total, unit="step"))
    execution = replace(
        execution, progress=lambda items, **_: (item for item, _ in zip(items, bar, strict=False))
    )
    trained, finished = [], []
    for number, part in enumerate(parts):
        ensemble = build(part)
        kept = execution.checkpoint.part(f"{number}-finished")
        finished.append(identified(kept, ensemble, steps, **plan))
        chunk_trained = _read(finished[-1], plan["observe_at"])
        if chunk_trained is None:
            own = execution.part(number)
            chunk_trained = train(ensemble, steps, **plan, execution=own, **options)
            _write(finished[-1], chunk_trained, steps)
        trained.append(chunk_trained)
    for checkpoint in finished:
        checkpoint.remove()
    return _joined(trained)


def _read(finished: Checkpoint, observed_at: tuple[int, ...]) -> Trained | None:
    """A chunk's result out of its file, where an earlier start finished it."""
    if (found := finished.read()) is None:
        return None
    tensors, _ = found
    return Trained(
        parameters=under("parameter", tensors),
        losses=tensors["losses"],
        observed=under("observed", tensors),
        observed_at=observed_at,
        diverged_at=tensors["diverged_at"],
    )


def _write(finished: Checkpoint, trained: Trained, steps: int) -> None:
    tensors = {"losses": trained.losses, "diverged_at": trained.diverged_at}
    tensors |= {f"parameter/{name}": tensor for name, tensor in trained.parameters.items()}
    tensors |= {f"observed/{name}": tensor for name, tensor in trained.observed.items()}
    finished.write(tensors, steps)


def _joined(parts: Sequence[Trained]) -> Trained:
    first = parts[0]
    return Trained(
        parameters={n: torch.cat([p.parameters[n] for p in parts]) for n in first.parameters},
        losses=torch.cat([part.losses for part in parts], dim=1),
        observed={n: torch.cat([p.observed[n] for p in parts], dim=1) for n in first.observed},
        observed_at=first.observed_at,
        diverged_at=torch.cat([part.diverged_at for part in parts]),
    )
