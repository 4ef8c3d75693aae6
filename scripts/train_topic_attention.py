"""Train one variant of the table of attention by optimiser, and average its attention."""

import numpy as np

from onelayer.job import job
from onelayer.settings.topic_structure_synthetic import AttentionTableSettings, SyntheticTraining
from onelayer.topic_structure.synthetic.attention import topic_attention

with job(snakemake) as step:
    settings = dict(snakemake.params.settings)
    block = AttentionTableSettings(**settings.pop("attention"))
    name, base = snakemake.wildcards.variant, SyntheticTraining(**settings)
    averages, matrices = topic_attention(base, block, name, step.execution)
    step.save(averages=averages)
    np.savez(step.path("matrices"), **matrices)
