"""Train the full matrix W on decision lists with V = cP: population flow, and SGD."""

from onelayer.decision_lists.attention import train_runs
from onelayer.job import job
from onelayer.settings.decision_lists import AttentionTraining

with job(snakemake) as step:
    settings = AttentionTraining(**snakemake.params.settings)
    runs, history, scores = train_runs(settings, step.progress)
    step.save(runs=runs, history=history, scores=scores)
