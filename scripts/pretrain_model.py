"""Pretrain a small model with its family's objective; a killed training goes on where it was."""

from pathlib import Path

from onelayer.job import job
from onelayer.settings.models import OneTraining
from onelayer.text.pretraining.training import read_task, save_model, train

with job(snakemake) as step:
    settings = OneTraining(**snakemake.params.settings)
    files = Path(snakemake.input.text), Path(snakemake.input.vocabulary)
    objective, training_text, held_out_text = read_task(*files, settings)
    history = train(objective, training_text, held_out_text, settings, step.execution)
    save_model(objective, step.folder("model"), Path(snakemake.input.tokenizer[0]).parent)
    step.save(history=history)
