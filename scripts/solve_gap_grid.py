"""Solve the gap of W_V and E over v, T, p_m, p_c and tau, in closed form."""

from onelayer.job import job
from onelayer.settings.topic_structure_synthetic import GapGridSettings, TopicModelSettings
from onelayer.topic_structure.synthetic.gaps import gap_grid

with job(snakemake) as step:
    words = TopicModelSettings(**snakemake.params.settings["model"])
    step.save(gaps=gap_grid(words, GapGridSettings(**snakemake.params.settings["grid"])))
