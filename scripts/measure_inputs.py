"""Measure a pretrained model's attention ratios on inputs like those that it was trained on."""

import pandas as pd

from onelayer.job import job
from onelayer.settings.probe import AttentionProbeSettings, UncertaintySettings
from onelayer.text.models.checkpoints import load_checkpoint
from onelayer.text.models.tokenizer import load_tokenizer
from onelayer.text.pretraining.text import input_sample, read_texts
from onelayer.topic_structure.wikipedia.variations import measure_inputs

with job(snakemake) as step:
    given, params = snakemake.input, snakemake.params
    settings = AttentionProbeSettings(**params.settings)
    texts = read_texts(given.mixed)
    measures = measure_inputs(
        (load_checkpoint(folder, step.device) for folder in params.folders),
        load_tokenizer(params.folders[0]),
        input_sample(texts, params.longest, settings.documents, settings.seed),
        pd.read_parquet(given.kept_words),
        pd.read_parquet(given.vocabulary),
        UncertaintySettings(**params.uncertainty),
        params.seeds,
        params.drawn,
        step.progress,
    )
    step.save(measures=measures)
