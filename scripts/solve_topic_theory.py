"""Solve what the theorems are about, gaps and optimal attention; train W_V, the embeddings, all."""

import numpy as np

from onelayer.job import job
from onelayer.settings import topic_structure_synthetic as blocks
from onelayer.topic_structure.synthetic.gaps import all_components, gap_grid, uniform_attention
from onelayer.topic_structure.synthetic.stage_two import optimal_ratios

with job(snakemake) as step:
    settings = dict(step.settings)
    theory = blocks.TheorySettings(**settings.pop("theory"))
    components = blocks.ComponentSettings(**settings.pop("components"))
    grid = blocks.GapGridSettings(**settings.pop("gap_grid"))
    stage_two = blocks.StageTwoSettings(**settings.pop("stage_two"))
    topics = blocks.RatioOverTSettings(**settings.pop("ratio_over_T"))
    base = blocks.SyntheticTraining(**settings)
    gaps, matrices = uniform_attention(base, theory, step.device)
    step.save(gaps=gaps, grid=gap_grid(base.model, grid))
    step.save(ratios=optimal_ratios(base.model, stage_two, topics, step.progress))
    matrices |= all_components(base, components, step.device)
    np.savez(step.path("matrices"), **matrices)
