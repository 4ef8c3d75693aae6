"""Train one-layer transformers on synthetic sequences, all runs of a sweep side by side."""

from onelayer.job import job
from onelayer.scan_snap.simulation import simulate, simulate_slower
from onelayer.settings.scan_snap import SimulationSettings, SlowSettings

with job(snakemake) as step:
    blocks = dict(step.settings)
    slow = SlowSettings(**blocks.pop("slow_transition"))
    sweeps = {name: SimulationSettings(**values) for name, values in blocks.items()}
    for name, sweep in sweeps.items():
        step.save(**{name: simulate(sweep, step.execution.part(name))})
    slower = simulate_slower(sweeps["transition"], slow, step.execution.part("slow"))
    step.save(slow_transition=slower)
