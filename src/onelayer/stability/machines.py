"""Another machine in place of this one: libraries told to leave instructions of it alone.

Numerical libraries choose their kernels by the processor, and other kernels add in another order.
Each has an environment variable that makes it choose as on a lesser processor; it reads the
variable when it is loaded.
"""

import os
import sys
from pathlib import Path

from onelayer.settings.stability import Machine

PROCESSOR = Path("/proc/cpuinfo")
LIBRARIES = ("numpy", "torch")
THREADS = ("MKL_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")


def missing_instructions(machine: Machine, processor: Path = PROCESSOR) -> list[str]:
    """Instruction sets that a machine requires and this processor lacks.

    A processor that nothing is known of lacks them all: with instructions that are not there a
    process is killed.
    """
    lines = processor.read_text(encoding="utf-8").splitlines() if processor.is_file() else []
    flags = next((line.partition(":")[2].split() for line in lines if line.startswith("flags")), [])
    return [name for name in machine.requires if name not in flags]


def become(machine: Machine) -> None:
    """Let the libraries that are loaded from here on compute as on that machine.

    Raises:
        RuntimeError: one of them is loaded, and has read its variables.
    """
    if loaded := [name for name in LIBRARIES if name in sys.modules]:
        raise RuntimeError(f"{loaded[0]} is loaded, too late for {machine.name}")
    threads = dict.fromkeys(THREADS, str(machine.threads))
    os.environ.update(threads | machine.environment)
