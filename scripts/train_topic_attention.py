"""Train one variant of the table of attention by optimiser, and average its attention."""

import numpy as np

from onelayer.job import job
from onelayer.settings.topic_structure_synthetic import AttentionTableSettings, SyntheticTraining
from onelayer.topic_structure.synthetic.attention import topic_attention

with job(snakemake) as step:
    settings = dict(step.settings)
    block = AttentionTableSettings(**settings.pop("attention"))
    averages, matrices = topic_attention(SyntheticTraining(**settings), block, step.execution)
    step.save(averages=averages)
    np.savez(step.path("matrices"), **matrices)
