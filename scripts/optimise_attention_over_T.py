"""Find the optimal attention of stage 2 over tau and T."""

from onelayer.job import job
from onelayer.settings.topic_structure_synthetic import RatioOverTSettings, TopicModelSettings
from onelayer.topic_structure.synthetic.stage_two import ratio_over_topics

with job(snakemake) as step:
    words = TopicModelSettings(**snakemake.params.settings["model"])
    block = RatioOverTSettings(**snakemake.params.settings["ratio_over_T"])
    step.save(ratios=ratio_over_topics(words, block))
