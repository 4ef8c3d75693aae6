"""Train transformers on chains with a trap, and follow the curvature at the unigram model."""

import pandas as pd

from onelayer.job import job
from onelayer.local_to_global.training import train_variants
from onelayer.local_to_global.trap import curvature
from onelayer.settings.local_to_global import TrapSettings

with job(snakemake) as step:
    settings, parts = TrapSettings(**snakemake.params.settings), []
    for place, chain in enumerate(settings.chains):
        part = step.execution.part(place)
        curves = train_variants(settings.trained, settings, chain, part, {"curvature": curvature})
        parts.append(curves.assign(p=chain.p, q=chain.q))
    step.save(curves=pd.concat(parts, ignore_index=True))
