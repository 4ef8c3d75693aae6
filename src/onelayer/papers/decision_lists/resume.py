"""A long run on W keeps its state in a file, so that a killed one goes on to the same numbers."""

from dataclasses import dataclass
from pathlib import Path
from time import monotonic

import torch
from torch import Tensor

from onelayer.checkpoint import Checkpoint


@dataclass
class Resume:
    """Where a run keeps its state.

    Attributes:
        path: the file; gone when the run is done.
        identity: all that decides the run; a file of another run counts as nothing.
        seconds: how often to write.
    """

    path: Path
    identity: str
    seconds: float = 30.0

    def __post_init__(self) -> None:
        self._last, self._mine = monotonic(), False

    def load(self, generator: torch.Generator | None) -> tuple[dict[str, Tensor], int] | None:
        """State and steps taken of a killed run, and its random numbers back into the generator."""
        found = Checkpoint(self.path, self.identity).read()
        if found and generator is not None:
            generator.set_state(found[0]["generator"])
        self._mine = found is not None
        return found

    def save_if_due(
        self, state: dict[str, Tensor], taken: int, generator: torch.Generator | None
    ) -> None:
        """Write the state, unless the last time was a moment ago."""
        if monotonic() - self._last < self.seconds:
            return
        if generator is not None:
            state = state | {"generator": generator.get_state()}
        Checkpoint(self.path, self.identity).write(state, taken)
        self._last, self._mine = monotonic(), True

    def done(self) -> None:
        """Remove the file, unless it is another run's."""
        if self._mine:
            self.path.unlink(missing_ok=True)
