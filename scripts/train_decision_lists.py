"""Train W alone (population flow, and SGD), V alone, and W and V together."""

from onelayer.decision_lists.attention import attention_runs
from onelayer.decision_lists.theorem_2 import near_runs, small_runs
from onelayer.decision_lists.value import value_runs
from onelayer.job import job
from onelayer.settings.decision_lists import NearStart, Run, SmallStart, ValueTraining

with job(snakemake) as step:
    settings = step.settings
    runs, history, scores = attention_runs(
        [Run(**one) for one in settings["attention"]], step.progress
    )
    step.save(attention_runs=runs, attention_history=history, attention_scores=scores)
    step.save(value_history=value_runs(ValueTraining(**settings["value"]), step.progress))
    small, history = small_runs([SmallStart(**one) for one in settings["small"]], step.progress)
    near = near_runs([NearStart(**one) for one in settings["near"]], step.progress)
    step.save(joint_near=near, joint_small=small, joint_small_history=history)
