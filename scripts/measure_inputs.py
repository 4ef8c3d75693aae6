"""Measure a pretrained model's attention ratios on inputs like those that it was trained on."""

import pandas as pd

from onelayer.job import job
from onelayer.settings.probe import AttentionProbeSettings, UncertaintySettings
from onelayer.text.models.checkpoints import load_checkpoint
from onelayer.text.models.tokenizer import load_tokenizer
from onelayer.text.pretraining.text import input_sample, read_texts
from onelayer.topic_structure.wikipedia.inputs import measure_inputs

with job(snakemake) as step:
    given, folders = dict(snakemake.params.settings), snakemake.params.folders
    uncertainty, longest = UncertaintySettings(**given.pop("uncertainty")), given.pop("longest")
    settings = AttentionProbeSettings(**given)
    texts = read_texts(snakemake.input.mixed)
    measured = measure_inputs(
        (load_checkpoint(folder, step.device) for folder in folders),
        load_tokenizer(folders[0]),
        input_sample(texts, longest, settings.documents, settings.seed),
        pd.read_parquet(snakemake.input.kept_words),
        pd.read_parquet(snakemake.input.vocabulary),
        settings.reference_length,
        uncertainty,
        snakemake.params.seeds,
        snakemake.params.drawn,
        step.progress,
    )
    step.save(measures=measured)
