"""Copy a checkpoint out of a folder on this machine, checked like a downloaded one."""

from onelayer.job import job
from onelayer.text.models.gather import Folder, gather_checkpoint

with job(snakemake) as step:
    gather_checkpoint(Folder(snakemake.params.settings["path"]), step.folder("model"))
