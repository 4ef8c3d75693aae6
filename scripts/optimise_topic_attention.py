"""Find the optimal attention of stage 2 for each tau, and train W_K and W_Q towards it."""

from onelayer.job import job
from onelayer.settings.topic_structure_synthetic import StageTwoSettings, SyntheticTraining
from onelayer.topic_structure.synthetic.stage_two import ratio_over_tau

with job(snakemake) as step:
    settings = dict(snakemake.params.settings)
    block = StageTwoSettings(**settings.pop("stage_two"))
    base = SyntheticTraining(**settings)
    step.save(ratios=ratio_over_tau(base, block, step.device, step.progress))
