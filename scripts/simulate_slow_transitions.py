"""Train through the phase transition at learning rates that are many times smaller."""

from onelayer.job import job
from onelayer.scan_snap.simulation import simulate_slower
from onelayer.settings.scan_snap import SimulationSettings, SlowSettings

with job(snakemake) as step:
    transition = SimulationSettings(**snakemake.params.settings["transition"])
    slow = SlowSettings(**snakemake.params.settings["slow"])
    step.save(attention=simulate_slower(transition, slow, step.execution))
