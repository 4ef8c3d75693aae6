"""Train W alone (population flow, and SGD), V alone, and W and V together."""

from onelayer.decision_lists.runs import attention_runs, near_runs, small_runs, value_runs
from onelayer.job import job
from onelayer.settings.decision_lists import NearStart, Run, SmallStart, ValueTraining

with job(snakemake) as step:
    settings = step.settings
    runs, history, scores = attention_runs(
        [Run(**one) for one in settings["attention"]], step.progress
    )
    step.save(attention_runs=runs, attention_history=history, attention_scores=scores)
    history = value_runs(ValueTraining(**settings["value"]), step.progress)
    step.save(value_history=history)
    small, history = small_runs([SmallStart(**one) for one in settings["small"]], step.progress)
    near = near_runs([NearStart(**one) for one in settings["near"]], step.progress)
    step.save(joint_near=near, joint_small=small, joint_small_history=history)
