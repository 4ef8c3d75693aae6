"""More runs than fit in memory at once: one ensemble after the other, joined at the end."""

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm

from onelayer.ensemble.checkpoint import digest, read_checkpoint, under, write_checkpoint
from onelayer.ensemble.training import Ensemble, Trained, train

_tqdm = functools.partial(tqdm, disable=None, leave=False)


def train_in_chunks(
    build: Callable[[slice], Ensemble],
    runs: int,
    chunk: int,
    steps: int,
    *,
    checkpoint: Path | None = None,
    progress: Callable[..., Iterable[int]] | None = None,
    **options: Any,
) -> Trained:
    """Train runs chunk after chunk; each run is the same, to rounding, as in one large ensemble.

    Args:
        build: makes the ensemble of runs `slice(start, stop)`.
        runs: number of runs in all.
        chunk: most runs per ensemble.
        steps: as `train`.
        checkpoint: as `train`; finished chunks stay beside it until the last one is done.
        progress: as `train`; one bar for the steps of all chunks.
        **options: further arguments of `train`.

    Raises:
        ValueError: chunk < 1, or what `train` raises.
    """
    if chunk < 1:
        raise ValueError(f"chunk = {chunk}: must be at least 1")
    parts = [slice(start, min(start + chunk, runs)) for start in range(0, runs, chunk)]
    trained, finished = [], []
    total = len(parts) * steps
    bar = iter((progress or _tqdm)(range(total), total=total, unit="step"))
    options["progress"] = lambda items, **_: (item for item, _ in zip(items, bar, strict=False))
    for number, part in enumerate(parts):
        ensemble = build(part)
        if checkpoint is None:
            trained.append(train(ensemble, steps, **options))
            continue
        here = checkpoint.with_name(f"{checkpoint.name}-{number}")
        finished.append(checkpoint.with_name(f"{checkpoint.name}-{number}-finished"))
        trained.append(_train_or_read(ensemble, steps, here, finished[-1], options))
    for path in finished:
        path.unlink(missing_ok=True)
    return _joined(trained)


def _train_or_read(
    ensemble: Ensemble, steps: int, checkpoint: Path, finished: Path, options: Mapping[str, Any]
) -> Trained:
    """A chunk's result, out of its file where an earlier start finished it."""
    observe_at = tuple(sorted(set(options.get("observe_at", ()))))
    plan = (observe_at, options.get("loss_every", 1), options.get("identity", ""))
    identity = digest(ensemble, steps, *plan)
    if found := read_checkpoint(finished, identity):
        tensors = found[0]
        return Trained(
            parameters=under("parameter", tensors),
            losses=tensors["losses"],
            observed=under("observed", tensors),
            observed_at=observe_at,
            diverged_at=tensors["diverged_at"],
        )
    result = train(ensemble, steps, checkpoint=checkpoint, **options)
    tensors = {"losses": result.losses, "diverged_at": result.diverged_at}
    tensors |= {f"parameter/{name}": tensor for name, tensor in result.parameters.items()}
    tensors |= {f"observed/{name}": tensor for name, tensor in result.observed.items()}
    write_checkpoint(finished, tensors, steps, identity)
    return result


def _joined(parts: Sequence[Trained]) -> Trained:
    first = parts[0]
    return Trained(
        parameters={n: torch.cat([p.parameters[n] for p in parts]) for n in first.parameters},
        losses=torch.cat([part.losses for part in parts], dim=1),
        observed={n: torch.cat([p.observed[n] for p in parts], dim=1) for n in first.observed},
        observed_at=first.observed_at,
        diverged_at=torch.cat([part.diverged_at for part in parts]),
    )
