"""Decoder Y and attention logits Z of Scan and Snap, for `compute.circuits`."""

from onelayer.compute.circuits import Model
from onelayer.papers.scan_snap.data import Task
from onelayer.papers.scan_snap.model import DTYPE, StreamBatches, gradients, initial_parameters
from onelayer.settings.circuits import FollowedTokens


def model(settings: FollowedTokens, device: str = "cpu") -> Model:
    """Y is what attended tokens add to the logits: values and decoder in one."""
    task = Task(settings.num_last, 1, settings.length, settings.batch)
    return Model(
        start=lambda seeds: initial_parameters(task, seeds, "uniform", DTYPE, device),
        scaled=("Y", "Z"),
        attention=("Z",),
        circuits=lambda now: (now["Y"], now["Z"]),
        batch=lambda seeds: StreamBatches(task, seeds, DTYPE, device),
        objective={"gradients": gradients},
    )
