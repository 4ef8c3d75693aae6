"""Find the optimal attention of stage 2 over tau and T, and train W_K and W_Q towards it."""

import pandas as pd

from onelayer.job import job
from onelayer.settings.topic_structure_synthetic import (
    RatioOverTSettings,
    StageTwoSettings,
    SyntheticTraining,
)
from onelayer.topic_structure.synthetic.stage_two import ratio_over_tau, ratio_over_topics

with job(snakemake) as step:
    settings = dict(step.settings)
    block = StageTwoSettings(**settings.pop("stage_two"))
    topics = RatioOverTSettings(**settings.pop("ratio_over_T"))
    base = SyntheticTraining(**settings)
    ratios = [ratio_over_tau(base, block, step.device, step.progress)]
    ratios.append(ratio_over_topics(base.model, topics))
    step.save(ratios=pd.concat(ratios, ignore_index=True))
