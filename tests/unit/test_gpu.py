"""The tests of the GPU's paths, `tests/gpu`, in a process of their own.

Torch counts its devices at the first backward pass of a process, and a process that had one more
than the CPU can fork none that trains.
"""

from tests.conftest import ROOT, run_command
from tests.steps import forking


def test_every_path_of_a_gpu_on_a_device_that_is_none() -> None:
    command = [forking(), "-m", "pytest", "-p", "no:xdist", "-p", "no:cacheprovider"]
    run = run_command(*command, "tests/gpu", folder=ROOT)
    assert run.returncode == 0, run.stdout
