"""Train W_V alone and the embeddings alone under uniform attention, and everything for Figure 1."""

import numpy as np

from onelayer.job import job
from onelayer.settings.topic_structure_synthetic import (
    ComponentSettings,
    SyntheticTraining,
    TheorySettings,
)
from onelayer.topic_structure.synthetic.gaps import uniform_attention

with job(snakemake) as step:
    settings = dict(snakemake.params.settings)
    theory = TheorySettings(**settings.pop("theory"))
    components = ComponentSettings(**settings.pop("components"))
    base = SyntheticTraining(**settings)
    gaps, matrices = uniform_attention(base, theory, components, step.device)
    step.save(gaps=gaps)
    np.savez(step.path("matrices"), **matrices)
