"""Where a computation runs: the one place that turns `auto` into a device, and what differs there.

On a GPU the host only launches what the device computes, and goes on. It waits where it reads a
number, where a size depends on values, and where it copies from memory that is not pinned. Code
that runs on both asks `on_gpu` where a processor's cache wants small pieces and a GPU large ones.
"""

import os

import numpy as np
import torch
from torch import Tensor

from onelayer.errors import OnelayerError

MEMORY_SHARE = 0.5  # of a GPU's memory that one computation plans to fill


def resolve_device(device: str) -> str:
    """`cpu` or `cuda`; `auto` takes a GPU if there is one.

    Raises:
        OnelayerError: `cuda` was asked for and there is none.
    """
    if device == "cuda" and not torch.cuda.is_available():
        raise OnelayerError("device: cuda was asked for, but torch sees no GPU; use cpu or auto")
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cuda":
        # cuBLAS repeats itself to the bit only so, and reads this once, when it starts.
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    return device


def on_gpu(device: str | torch.device) -> bool:
    """Whether a device is anything but the host's own processor."""
    return torch.device(device).type != "cpu"


def to_device(values: np.ndarray | Tensor, device: str | torch.device) -> Tensor:
    """Numbers of the host on a device; towards a GPU while the host goes on."""
    values = torch.as_tensor(values)
    if not on_gpu(device):
        return values.to(device)
    if torch.device(device).type == "cuda":
        values = values.pin_memory()
    return values.to(device, non_blocking=True)


def fitting(bytes_each: float, device: str | torch.device) -> int:
    """How many of equal parts, of so many bytes each, fit in a GPU's memory; at least 1.

    Of all its memory, not of what is free: the same GPU makes the same parts, and so the same bits.
    """
    memory = torch.cuda.get_device_properties(device).total_memory
    return max(1, int(MEMORY_SHARE * memory / bytes_each))
