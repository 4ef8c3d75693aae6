"""Train W and V together on decision lists: near V = cP, and from small random numbers."""

from onelayer.decision_lists.joint import near_runs, small_runs
from onelayer.job import job
from onelayer.settings.decision_lists import JointTraining

with job(snakemake) as step:
    settings = JointTraining(**snakemake.params.settings)
    near = near_runs(settings.near, step.progress)
    small, small_history = small_runs(settings.small, step.progress)
    step.save(near=near, small=small, small_history=small_history)
