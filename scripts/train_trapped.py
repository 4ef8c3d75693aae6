"""Train transformers on chains with a trap, and follow the curvature at the unigram model."""

from onelayer.job import job
from onelayer.local_to_global.trap import train_trap
from onelayer.settings.local_to_global import TrapSettings

with job(snakemake) as step:
    settings = TrapSettings(**snakemake.params.settings)
    step.save(curves=train_trap(settings, step.execution))
