"""Fetch a checkpoint out of a repository on a Hugging Face hub, at a pinned commit."""

from onelayer.job import job
from onelayer.settings.hub import HubRepository
from onelayer.text.fetch import Repository
from onelayer.text.models.gather import gather_checkpoint

with job(snakemake) as step:
    repository = Repository("model", HubRepository(**snakemake.params.settings))
    gather_checkpoint(repository, step.folder("model"))
