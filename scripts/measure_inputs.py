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
    uncertainty = UncertaintySettings(**params.uncertainty)
    texts, longest = read_texts(given.mixed), params.longest
    inputs = input_sample(texts, longest, settings.documents, settings.seed)
    models = (load_checkpoint(folder, step.device) for folder in params.folders)
    of = models, load_tokenizer(params.folders[0]), inputs
    words = pd.read_parquet(given.kept_words), pd.read_parquet(given.vocabulary)
    how = settings.reference_length, uncertainty, params.seeds, params.drawn, step.progress
    step.save(measures=measure_inputs(*of, *words, *how))
