"""A training's whole state in one safetensors file, so that a killed training goes on exactly."""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

if TYPE_CHECKING:
    from onelayer.ensemble.training import Ensemble


def write_checkpoint(path: Path, tensors: Mapping[str, Tensor], step: int, identity: str) -> None:
    """Write a checkpoint so that at any moment either the old or the new one is there.

    Args:
        path: the file; its folder is made.
        tensors: the state by name.
        step: updates done.
        identity: what training this is; only the same one may go on from it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.new")
    kept = {name: tensor.detach().contiguous().cpu() for name, tensor in tensors.items()}
    save_file(kept, part, metadata={"training": json.dumps({"step": step, "identity": identity})})
    with open(part, "rb+") as file:
        os.fsync(file.fileno())
    part.replace(path)


def read_checkpoint(path: Path, identity: str) -> tuple[dict[str, Tensor], int] | None:
    """Tensors on the CPU and the number of updates done; None where there is nothing to go on from.

    A file of another training (other settings, other code) or a broken one counts as nothing.
    """
    if not path.exists():
        return None
    try:
        with safe_open(path, framework="pt") as file:
            training = json.loads((file.metadata() or {}).get("training", "{}"))
            if training.get("identity") != identity:
                return None
            return {name: file.get_tensor(name) for name in file.keys()}, training["step"]  # noqa: SIM118
    except (SafetensorError, OSError, ValueError):
        return None


def digest(
    ensemble: "Ensemble", steps: int, observe_at: Sequence[int], loss_every: int, identity: str
) -> str:
    """What a checkpoint must agree on: the start, the plan, and what the caller adds."""
    optimizer = vars(ensemble.optimizer) | {"schedule": None}
    if ensemble.optimizer.schedule is not None and steps:
        # A function has no digest; a few of its values stand for it.
        optimizer["schedule"] = [ensemble.optimizer.schedule(t) for t in (0, steps // 2, steps - 1)]
    plan = (identity, steps, tuple(observe_at), loss_every, list(ensemble.labels))
    text = repr((plan, {key: _plain(value) for key, value in optimizer.items()}))
    found = hashlib.sha256(text.encode())
    for name, tensor in sorted(ensemble.parameters.items()):
        found.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}".encode())
        found.update(tensor.detach().contiguous().cpu().numpy().tobytes())
    return found.hexdigest()


def _plain(value: object) -> object:
    """A setting as numbers that print in full."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value.tolist() if hasattr(value, "tolist") else value


def under(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Tensors whose names begin with `prefix/`, without it."""
    return {
        name.removeprefix(f"{prefix}/"): tensor
        for name, tensor in tensors.items()
        if name.startswith(f"{prefix}/")
    }
