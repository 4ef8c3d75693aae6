"""Train one-layer transformers on synthetic sequences, all runs of a sweep side by side."""

from onelayer.job import job
from onelayer.scan_snap.simulation import simulate, simulate_frozen, simulate_slower
from onelayer.settings.scan_snap import SimulationSettings, TransitionSettings

with job(snakemake) as step:
    transition = TransitionSettings(**step.settings["transition"])
    step.save(transition=simulate_slower(transition, step.execution.part("transition")))
    for name in ("scan", "rest", "entropy_sweep"):
        sweep = SimulationSettings(**step.settings[name])
        simulated = simulate(sweep, step.execution.part(name))
        step.save(**{name: simulated})
        if name == "rest":
            step.save(frozen=simulate_frozen(sweep, simulated, step.execution.part("frozen")))
