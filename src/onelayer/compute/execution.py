"""How a long computation runs, and nothing of what it computes: device, state file, progress."""

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from tqdm import tqdm

from onelayer.compute.checkpoint import Checkpoint
from onelayer.compute.device import resolve_device
from onelayer.run.step import Step

# Silent where stderr is no terminal.
progress_bar = functools.partial(tqdm, disable=None, leave=False)


@dataclass(frozen=True)
class Execution:
    """What every training takes beside its settings; decides no number but by the device."""

    device: str = "cpu"  # or `cuda`
    checkpoint: Checkpoint = field(default_factory=Checkpoint)  # by default nothing is kept
    progress: Callable[..., Iterable] = progress_bar  # called as `tqdm` is

    def part(self, name: object, identity: object = "") -> "Execution":
        """The same for one of several trainings in a row: a state file of its own."""
        return replace(self, checkpoint=self.checkpoint.part(name, identity))


def execution_of(step: Step, output: Path | None = None) -> Execution:
    """How a step's training runs: on the device of its settings, its state beside an output.

    That is the first, where none is named. A rerun finds the state there, and whoever trains
    goes on from it; it is gone when the step's outputs are in place.

    Raises:
        OnelayerError: the settings ask for a GPU and there is none.
    """
    output = output or next(iter(vars(step.outputs).values()))
    step.device = resolve_device(step.settings.device)
    checkpoint = Checkpoint(step.checkpoint(output), step.identity())
    return Execution(step.device, checkpoint, step.progress)


def execution_on(device: str, step: Step) -> Execution:
    """How a step runs that trains nothing: on a device, with its progress bar.

    Raises:
        OnelayerError: it is to be a GPU and there is none.
    """
    step.device = resolve_device(device)
    return Execution(step.device, progress=step.progress)
