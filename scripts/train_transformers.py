"""Train one-layer transformers on a Markov chain: four starts, then one change at a time."""

import pandas as pd
from safetensors.numpy import save_file

from onelayer.job import job
from onelayer.local_to_global.chain import Chain
from onelayer.local_to_global.training import curves, snapshots_of, train_group, train_variants
from onelayer.settings.local_to_global import TransformerSettings

with job(snakemake) as step:
    settings = TransformerSettings(**snakemake.params.settings)
    chain, starts = Chain(settings.chain.p, settings.chain.q), settings.starts
    trained = train_group(starts, settings, chain, settings.snapshots, step.execution)
    of_starts = curves(starts, trained, settings.seeds)
    changed = train_variants(settings.variants, settings, chain, step.execution.part("changed"))
    step.save(curves=pd.concat([of_starts, changed], ignore_index=True))
    weights = snapshots_of(starts, trained, settings.snapshots, settings.seeds)
    save_file(weights, step.path("weights"))
