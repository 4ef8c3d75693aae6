"""How a long computation runs, and nothing of what it computes: device, state file, progress."""

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from time import monotonic

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

from onelayer.errors import OnelayerError

# Silent where stderr is no terminal.
progress_bar = partial(tqdm, disable=None, leave=False)


def resolve_device(device: str) -> str:
    """`cpu` or `cuda`; `auto` takes a GPU if there is one, `cuda` without one is an error."""
    there = device != "cpu" and torch.cuda.is_available()
    if device == "cuda" and not there:
        raise OnelayerError("device: cuda was asked for, but torch sees no GPU; use cpu or auto")
    if there:
        # cuBLAS repeats itself to the bit only so, and reads this once, when it starts.
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    return "cuda" if there else "cpu"


def to_device(values: np.ndarray | Tensor, device: str | torch.device) -> Tensor:
    """Numbers of the host on a device."""
    return torch.as_tensor(values).to(device)


@dataclass
class Checkpoint:
    """Where one computation keeps its state: while it runs, and until its result is safe."""

    path: Path | None = None  # None where nothing is to be kept
    identity: str = ""  # what computation this is; only the same one may go on from the file
    # At least so many between two writings.
    seconds: float = float(os.environ.get("ONELAYER_STATE_EVERY", 20))
    _written: float = field(default_factory=monotonic, init=False, repr=False)

    def read(self) -> tuple[dict[str, Tensor], int]:
        """Tensors on the CPU, steps done; nothing, 0 without a whole file of this computation."""
        if self.path is not None and self.path.exists():
            with suppress(Exception):  # torch and zip say in a dozen ways that a file is broken
                kept = torch.load(self.path, weights_only=True)
                if kept["identity"] == self.identity:
                    return kept["state"], kept["steps"]
        return {}, 0

    def write(self, state: Callable[[], Mapping[str, Tensor]], steps: int) -> None:
        """Write the state, `steps` done, so that at any moment the old or the new one is there."""
        if self.path is None:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        part = self.path.with_name(f"{self.path.name}.new")
        tensors = {name: tensor.detach().cpu() for name, tensor in state().items()}
        torch.save({"identity": self.identity, "steps": steps, "state": tensors}, part)
        part.replace(self.path)
        self._written = monotonic()

    def write_if_due(self, state: Callable[[], Mapping[str, Tensor]], steps: int) -> None:
        """Write the state, unless the last time was a moment ago."""
        if monotonic() - self._written >= self.seconds:
            self.write(state, steps)


@dataclass(frozen=True)
class Execution:
    """What every training takes beside its settings; decides no number but by the device."""

    device: str = "cpu"  # or `cuda`
    checkpoint: Checkpoint = field(default_factory=Checkpoint)  # by default nothing is kept
    progress: Callable[..., Iterable] = progress_bar  # called as `tqdm` is

    def part(self, name: object, identity: object = "") -> "Execution":
        """The same for one of several trainings in a row: a state file of its own."""
        whole = self.checkpoint
        path = whole.path and whole.path.with_name(f"{whole.path.name}-{name}")
        part = Checkpoint(path, f"{whole.identity} {identity}".strip(), whole.seconds)
        return replace(self, checkpoint=part)
