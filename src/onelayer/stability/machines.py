"""Another machine in place of this one: libraries that leave some of its instructions alone.

Numerical libraries choose their kernels by the processor, and other kernels add in another order.
Each has an environment variable that makes it choose as on a lesser processor; it reads the
variable when it is loaded.
"""

import logging
import os
import sys
from collections.abc import Mapping

from onelayer.run.portable import describe_processor
from onelayer.settings.stability import Machine

LIBRARIES = ("numpy", "torch")
THREADS = ("MKL_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")

log = logging.getLogger("onelayer")


def missing_instructions(machine: Machine, processor: Mapping[str, str]) -> list[str]:
    """Instruction sets that a machine requires and a processor, as described, lacks.

    An unknown processor counts as lacking them all: a process that uses a missing one is killed.
    """
    flags = processor.get("flags", "").split()
    return [name for name in machine.requires if name not in flags]


def stand_in(machine: Machine) -> bool:
    """`become` that machine; False, and a line of the log, where this processor cannot."""
    if missing := missing_instructions(machine, describe_processor()):
        log.info("%s is left out: this processor has no %s", machine.name, ", ".join(missing))
    else:
        become(machine)
    return not missing


def become(machine: Machine) -> None:
    """Let the libraries that are loaded from here on compute as on that machine.

    Raises:
        RuntimeError: one of them is loaded, and has read its variables.
    """
    if loaded := [name for name in LIBRARIES if name in sys.modules]:
        raise RuntimeError(f"{loaded[0]} is loaded, too late for {machine.name}")
    threads = dict.fromkeys(THREADS, str(machine.threads))
    os.environ.update(threads | machine.environment)
