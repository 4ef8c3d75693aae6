"""A long computation's state in one safetensors file, so that a killed one goes on exactly."""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor


@dataclass
class Checkpoint:
    """Where one computation keeps its state: while it runs, and until its result is safe."""

    path: Path | None = None  # None where nothing is to be kept
    identity: str = ""  # what computation this is; only the same one may go on from the file
    seconds: float = 20.0  # least time between two writings; decides no number
    _written: float = field(default_factory=monotonic, init=False, repr=False)

    def part(self, name: object, identity: object = "") -> "Checkpoint":
        """The same for one of several computations in a row: a file and an identity of its own."""
        path = self.path and self.path.with_name(f"{self.path.name}-{name}")
        return Checkpoint(path, f"{self.identity} {identity}".strip(), self.seconds)

    def read(self) -> tuple[dict[str, Tensor], int] | None:
        """Tensors on the CPU and the steps done; None where there is nothing to go on from.

        A file of another computation (other settings, other code) or a broken one counts as
        nothing.
        """
        if self.path is None or not self.path.exists():
            return None
        try:
            with safe_open(self.path, framework="pt") as file:
                kept = json.loads((file.metadata() or {}).get("training", "{}"))
                if kept.get("identity") != self.identity:
                    return None
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
                return tensors, kept["step"]
        except (SafetensorError, OSError, ValueError):
            return None

    def write(self, state: Callable[[], Mapping[str, Tensor]], steps: int) -> None:
        """Write the state, `steps` done, so that at any moment the old or the new one is there.

        Where nothing is kept the state is not asked for.
        """
        if self.path is None:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        part = self.path.with_name(f"{self.path.name}.new")
        kept = {name: tensor.detach().contiguous().cpu() for name, tensor in state().items()}
        metadata = {"training": json.dumps({"step": steps, "identity": self.identity})}
        save_file(kept, part, metadata=metadata)
        with open(part, "rb+") as file:
            os.fsync(file.fileno())
        part.replace(self.path)
        self._written = monotonic()

    def write_if_due(self, state: Callable[[], Mapping[str, Tensor]], steps: int) -> None:
        """Write the state, unless the last time was a moment ago."""
        if self.path is not None and monotonic() - self._written >= self.seconds:
            self.write(state, steps)


def under(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Tensors whose names begin with `prefix/`, without it."""
    return {
        name.removeprefix(f"{prefix}/"): tensor
        for name, tensor in tensors.items()
        if name.startswith(f"{prefix}/")
    }
