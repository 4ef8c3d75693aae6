"""Decoder Y and attention logits Z of Scan and Snap, for `compute.circuits`."""

import torch

from onelayer.compute.circuits import Model
from onelayer.papers.scan_snap import model as scan_snap
from onelayer.papers.scan_snap.data import Task
from onelayer.settings.circuits import FollowedTokens

DTYPE = torch.float32  # as the paper's


def model(settings: FollowedTokens, device: str = "cpu") -> Model:
    """Y is what attended tokens add to the logits: values and decoder in one."""
    task = Task(settings.num_last, 1, settings.length, settings.batch)
    return Model(
        start=lambda seeds: scan_snap.initial_parameters(task, seeds, "uniform", DTYPE, device),
        scaled=("Y", "Z"),
        attention=("Z",),
        circuits=lambda now: (now["Y"], now["Z"]),
        batch=lambda seeds: scan_snap.StreamBatches(task, seeds, DTYPE, device),
        objective={"gradients": scan_snap.gradients},
    )
