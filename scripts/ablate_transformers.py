"""Train the transformer with one change at a time, to see what keeps it at the unigram model."""

from onelayer.job import job
from onelayer.local_to_global.chain import Chain
from onelayer.local_to_global.training import train_variants
from onelayer.settings.local_to_global import AblatedSettings

with job(snakemake) as step:
    settings = AblatedSettings(**snakemake.params.settings)
    chain = Chain(settings.chain.p, settings.chain.q)
    step.save(curves=train_variants(settings.variants, settings, chain, step.execution))
