"""Train V alone on decision lists, attention held uniform by W = 0."""

from onelayer.decision_lists.joint import value_runs
from onelayer.job import job
from onelayer.settings.decision_lists import ValueTraining

with job(snakemake) as step:
    settings = ValueTraining(**snakemake.params.settings)
    history, ceilings, values = value_runs(settings, step.progress)
    step.save(history=history, ceilings=ceilings, values=values)
