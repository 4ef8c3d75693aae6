"""Train from near-zero matrices, and keep the norms of W_K, W_Q and W_V."""

from onelayer.job import job
from onelayer.settings.topic_structure_synthetic import SyntheticTraining, TwoStageSettings
from onelayer.topic_structure.synthetic.train import two_stages

with job(snakemake) as step:
    settings = dict(step.settings)
    block = TwoStageSettings(**settings.pop("two_stages"))
    step.save(norms=two_stages(SyntheticTraining(**settings), block, step.execution))
