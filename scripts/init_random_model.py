"""Initialise a model at random, once a seed, with another's configuration and tokenizer."""

from pathlib import Path

from onelayer.job import job
from onelayer.text.models.checkpoints import random_model, save_checkpoint

with job(snakemake) as step:
    like = Path(snakemake.input[0]).parent
    for seed in step.progress(snakemake.params.settings["seeds"]):
        save_checkpoint(random_model(like, seed), step.folder(f"seed_{seed}"), like)
