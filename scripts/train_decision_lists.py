"""Theorem 1's flow, exactly; then W alone (population flow, and SGD), V alone, and W and V."""

import pandas as pd

from onelayer.decision_lists.runs import attention_runs, near_runs, small_runs, value_runs
from onelayer.decision_lists.theorem_1 import counterexample, follow, solve_grids
from onelayer.job import job
from onelayer.settings.decision_lists import DecisionListSettings

with job(snakemake) as step:
    settings = DecisionListSettings(**step.settings)
    step.save(
        solved=solve_grids(settings.theorem_1, settings.shown, step.progress),
        followed=follow(settings.shown, settings.theorem_1.max_steps),
        counterexample=pd.DataFrame([counterexample(delta) for delta in (1.0, 0.5)]),
    )
    runs, history, scores = attention_runs(settings.attention, step.progress)
    step.save(attention_runs=runs, attention_history=history, attention_scores=scores)
    history, values = value_runs(settings.value, step.progress)
    step.save(value_history=history, final_values=values)
    small, history = small_runs(settings.small, step.progress)
    near = near_runs(settings.near, step.progress)
    step.save(joint_near=near, joint_small=small, joint_small_history=history)
