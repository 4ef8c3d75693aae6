"""Solve what the theorems are about, gaps and optimal attention; train W_V, the embeddings, all."""

import numpy as np

from onelayer.job import job
from onelayer.settings.topic_structure_synthetic import TopicTheorySettings
from onelayer.topic_structure.synthetic.gaps import all_components, gap_grid, uniform_attention
from onelayer.topic_structure.synthetic.optima import optimal_ratios

with job(snakemake) as step:
    settings = TopicTheorySettings(**step.settings)
    gaps, matrices = uniform_attention(settings, settings.theory, step.device)
    ratios = optimal_ratios(settings, step.progress)
    grid = gap_grid(settings.model, settings.gap_grid)
    step.save(gaps=gaps, grid=grid, ratios=ratios)
    matrices |= all_components(settings, settings.components, step.device)
    np.savez(step.path("matrices"), **matrices)
