"""Train one-layer transformers on a Markov chain: four starts, then one change at a time."""

import pandas as pd
from safetensors.numpy import save_file

from onelayer.job import job
from onelayer.local_to_global.training import curves, snapshots_of, train_group, train_variants
from onelayer.settings.local_to_global import TransformerSettings

with job(snakemake) as step:
    settings = TransformerSettings(**snakemake.params.settings)
    chain, starts, seeds = settings.chain, settings.starts, settings.seeds
    trained = train_group(starts, settings, chain, settings.snapshots, step.execution)
    changed = train_variants(settings.variants, settings, chain, step.execution.part("changed"))
    step.save(curves=pd.concat([curves(starts, trained, seeds), changed], ignore_index=True))
    weights = snapshots_of(starts, trained, settings.snapshots, seeds)
    save_file(weights, step.path("weights"))
