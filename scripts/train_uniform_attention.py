"""Solve and train W_V and the embeddings under uniform attention, and train all for Figure 1."""

import numpy as np

from onelayer.job import job
from onelayer.settings.topic_structure_synthetic import (
    ComponentSettings,
    GapGridSettings,
    SyntheticTraining,
    TheorySettings,
)
from onelayer.topic_structure.synthetic.gaps import all_components, gap_grid, uniform_attention

with job(snakemake) as step:
    settings = dict(step.settings)
    theory = TheorySettings(**settings.pop("theory"))
    components = ComponentSettings(**settings.pop("components"))
    grid = GapGridSettings(**settings.pop("gap_grid"))
    base = SyntheticTraining(**settings)
    gaps, matrices = uniform_attention(base, theory, step.device)
    step.save(gaps=gaps, grid=gap_grid(base.model, grid))
    matrices |= all_components(base, components, step.device)
    np.savez(step.path("matrices"), **matrices)
