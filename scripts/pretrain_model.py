"""Pretrain a small model with its family's objective."""

from pathlib import Path

from onelayer.job import job
from onelayer.settings.models import OneTraining
from onelayer.text.models.checkpoints import save_checkpoint
from onelayer.text.pretraining.training import read_task, train

with job(snakemake) as step:
    settings = OneTraining(**snakemake.params.settings)
    files = Path(snakemake.input.text), Path(snakemake.input.vocabulary)
    objective, training_text, held_out_text = read_task(*files, settings)
    history = train(objective, training_text, held_out_text, settings, step.execution)
    tokenizer = Path(snakemake.input.tokenizer[0]).parent
    save_checkpoint(objective.saved.cpu(), step.folder("model"), tokenizer)
    step.save(history=history)
