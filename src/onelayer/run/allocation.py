"""What a rule asks of the machine that runs it, in the form that Snakemake's `resources:` takes."""

from collections.abc import Callable


def gpus(device: str) -> int:
    """GPUs that a step with this setting `device` reserves: one for `cuda`, else none.

    `auto` takes a GPU that it finds, and so may share it; it never waits in a queue for one.
    """
    return int(device == "cuda")


def asks(
    mem_mb: int, minutes: int, device: str | Callable[..., str] | None = None
) -> dict[str, object]:
    """All that a rule asks for: memory (MB) and time as its benchmark files say, more in a retry.

    A second attempt asks for twice of both, and so on. `device` is the setting of a step that has
    one, or a function of wildcards.
    """
    found: dict[str, object] = {
        "mem_mb": lambda wildcards, attempt: mem_mb * attempt,
        "runtime": lambda wildcards, attempt: minutes * attempt,
    }
    if callable(device):
        found["gpu"] = lambda wildcards: gpus(device(wildcards))
    elif device is not None:
        found["gpu"] = gpus(device)
    return found
