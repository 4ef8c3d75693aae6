"""What a rule asks of the machine that runs it, in the form that Snakemake's `resources:` takes."""

from collections.abc import Callable


def growing(measured: int) -> Callable[..., int]:
    """A resource function: what was measured, twice that for a job's second attempt, and so on."""
    return lambda wildcards, attempt: measured * attempt


def gpus(device: str) -> int:
    """GPUs that a step with this setting `device` reserves: one for `cuda`, else none.

    `auto` takes a GPU that it finds, and so may share it; it never waits in a queue for one.
    """
    return int(device == "cuda")


def asks(
    mem_mb: int, minutes: int, device: str | Callable[..., str] | None = None
) -> dict[str, object]:
    """All that a rule asks for: memory (MB) and time as its benchmark files say, more in a retry.

    `device` is the setting of a step that has one, or a function of wildcards.
    """
    resources: dict[str, object] = {"mem_mb": growing(mem_mb), "runtime": growing(minutes)}
    if callable(device):
        resources["gpu"] = lambda wildcards: gpus(device(wildcards))
    elif device is not None:
        resources["gpu"] = gpus(device)
    return resources
