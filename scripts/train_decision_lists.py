"""Train on decision lists: W alone (population flow, and SGD), V alone, and W and V together."""

from onelayer.decision_lists.attention import attention_runs
from onelayer.decision_lists.joint import near_runs, small_runs, value_runs
from onelayer.job import job
from onelayer.settings.decision_lists import AttentionTraining, JointTraining, ValueTraining

with job(snakemake) as step:
    settings = AttentionTraining(**step.settings["attention"])
    runs, history, scores = attention_runs(settings, step.progress)
    step.save(attention_runs=runs, attention_history=history, attention_scores=scores)
    settings = ValueTraining(**step.settings["value"])
    history, ceilings, values = value_runs(settings, step.progress)
    step.save(value_history=history, value_ceilings=ceilings, final_values=values)
    settings = JointTraining(**step.settings["joint"])
    small, history = small_runs(settings.small, step.progress)
    near = near_runs(settings.near, step.progress)
    step.save(joint_near=near, joint_small=small, joint_small_history=history)
