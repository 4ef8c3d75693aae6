"""Theorem 1's exact gradient flow: times of all sizes, paths of some, a counterexample."""

import pandas as pd

from onelayer.decision_lists.theorem_1 import counterexample, follow, solve_grids
from onelayer.job import job
from onelayer.settings.decision_lists import Size, Theorem1

with job(snakemake) as step:
    settings = Theorem1(**snakemake.params.settings)
    shown = [Size(**size) for size in snakemake.params.shown]
    step.save(
        solved=solve_grids(settings, shown, step.progress),
        followed=follow(shown, settings.max_steps),
        counterexample=pd.DataFrame([counterexample(delta) for delta in (1.0, 0.5)]),
    )
