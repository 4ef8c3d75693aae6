"""Train one-layer transformers on synthetic sequences, all runs of a sweep side by side."""

from onelayer.job import job
from onelayer.scan_snap.simulation import simulate, simulate_frozen, simulate_slower
from onelayer.settings.scan_snap import SimulationSettings, TransitionSettings

with job(snakemake) as step:
    transition = TransitionSettings(**step.settings["transition"])
    step.save(transition=simulate_slower(transition, step.execution.part("transition")))
    rest = SimulationSettings(**step.settings["rest"])
    trained = simulate(rest, step.execution.part("rest"))
    step.save(rest=trained, frozen=simulate_frozen(rest, trained, step.execution.part("frozen")))
    for name in ("scan", "entropy_sweep"):
        sweep = SimulationSettings(**step.settings[name])
        step.save(**{name: simulate(sweep, step.execution.part(name))})
