"""Train one-layer transformers on synthetic sequences, all runs of a sweep side by side."""

from onelayer.job import job
from onelayer.scan_snap.simulation import simulate
from onelayer.settings.scan_snap import SimulationSettings

with job(snakemake) as step:
    settings = SimulationSettings(**snakemake.params.settings)
    step.save(attention=simulate(settings, step.execution))
