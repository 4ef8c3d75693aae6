"""Initialise a model at random with another model's configuration and tokenizer."""

from pathlib import Path

from onelayer.job import job
from onelayer.text.models.checkpoints import save_random_checkpoint

with job(snakemake) as step:
    like = Path(snakemake.input[0]).parent
    save_random_checkpoint(like, step.folder("model"), snakemake.params.settings["seed"])
