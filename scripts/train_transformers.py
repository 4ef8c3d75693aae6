"""Train one-layer transformers on a Markov chain from three starts, all runs at once."""

from safetensors.numpy import save_file

from onelayer.job import job
from onelayer.local_to_global.chain import Chain
from onelayer.local_to_global.training import curves, snapshots_of, train_group
from onelayer.settings.local_to_global import TransformerSettings, Variant

with job(snakemake) as step:
    settings = TransformerSettings(**snakemake.params.settings)
    group = [
        Variant(name=start, initialisation=start) for start in ("standard", "rank_one", "paper")
    ]
    chain, snapshots = Chain(settings.chain.p, settings.chain.q), settings.snapshots
    trained = train_group(group, settings, chain, snapshots, step.execution)
    step.save(curves=curves(group, trained, settings.seeds))
    weights = snapshots_of(group, trained, snapshots, settings.seeds)
    save_file(weights, step.path("weights"))
