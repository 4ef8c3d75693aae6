"""Measure a model's loss on words without the heads of the largest ratios, and without others."""

import pandas as pd

from onelayer.compute.device import resolve_device
from onelayer.evidence.tables import ALL
from onelayer.papers.topic_structure.wikipedia.head_removal import without_losses
from onelayer.run.step import Step, run
from onelayer.settings.block import Seed, Threads
from onelayer.settings.probe import AttentionProbeSettings
from onelayer.settings.topic_structure import HeadRemovalSettings
from onelayer.text.models.folder import published_bare


def main(
    step: Step,
    removal: HeadRemovalSettings,
    attention: AttentionProbeSettings,
    checkpoint_seeds: list[Seed],
    threads: Threads,
) -> None:
    folders = list(dict.fromkeys(path.parent for path in step.inputs.models))
    seeds = list(map(str, checkpoint_seeds)) if len(folders) > 1 else [ALL]
    named = dict(zip(seeds, folders, strict=True))
    bare = published_bare(folders[0])
    losses = without_losses(bare) if bare else measured(step, named, removal, attention)
    losses.to_parquet(step.outputs.losses, index=False, compression="zstd")


def measured(
    step: Step, folders: dict, removal: HeadRemovalSettings, attention: AttentionProbeSettings
) -> pd.DataFrame:
    # transformers takes seconds, which a model without a head does not need
    from onelayer.papers.topic_structure.wikipedia.probe.head_removal import (
        measure_removal,
        unseen_articles,
    )
    from onelayer.text.models.tokenizer import load_tokenizer

    inputs = step.inputs
    step.device = resolve_device(attention.device)
    articles = unseen_articles(
        inputs.articles, inputs.trained_on, inputs.encoded, attention, removal
    )
    return measure_removal(
        folders,
        load_tokenizer(next(iter(folders.values()))),
        articles,
        *map(pd.read_parquet, (inputs.kept_words, inputs.vocabulary, inputs.heads)),
        removal,
        attention.max_tokens,
        step.device,
        step.progress,
    )


if __name__ == "__main__":
    inputs = ["articles*", "trained_on*", "encoded*", "kept_words", "vocabulary", "heads"]
    inputs += ["models*"]
    run(main, inputs=inputs, outputs=["losses"])
