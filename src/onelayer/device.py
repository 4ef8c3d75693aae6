"""Where a computation runs: the one place that turns `auto` into a device."""

import torch

from onelayer.errors import OnelayerError


def resolve_device(device: str) -> str:
    """`cpu` or `cuda`; `auto` takes a GPU if there is one.

    Raises:
        OnelayerError: `cuda` was asked for and there is none.
    """
    if device == "cuda" and not torch.cuda.is_available():
        raise OnelayerError("device: cuda was asked for, but torch sees no GPU; use cpu or auto")
    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    return device
