"""Measure a model's loss on words without the heads of the largest ratios, and without others."""

import pandas as pd

from onelayer.compute.device import resolve_device
from onelayer.evidence.tables import ALL
from onelayer.papers.topic_structure.wikipedia.head_removal import without_losses
from onelayer.run.step import Step, program
from onelayer.settings.block import Seed
from onelayer.settings.probe import AttentionProbeSettings as Attention
from onelayer.settings.topic_structure import HeadRemovalSettings as Removal
from onelayer.text.models.folder import published_bare


@program(
    inputs="articles* trained_on* encoded* kept_words vocabulary heads models*", outputs="losses"
)
def main(step: Step, removal: Removal, attention: Attention, checkpoint_seeds: list[Seed]) -> None:
    inputs = step.inputs
    folders = list(dict.fromkeys(path.parent for path in inputs.models))
    if bare := published_bare(folders[0]):
        step.write(losses=without_losses(bare))
        return
    # transformers takes seconds, which a model without a head does not need
    from onelayer.papers.topic_structure.wikipedia.probe import head_removal
    from onelayer.text.models.tokenizer import load_tokenizer

    step.device = resolve_device(attention.device)
    seeds = map(str, checkpoint_seeds) if len(folders) > 1 else [ALL]
    texts = inputs.articles, inputs.trained_on, inputs.encoded
    articles = head_removal.unseen_articles(*texts, attention, removal)
    words = map(pd.read_parquet, (inputs.kept_words, inputs.vocabulary, inputs.heads))
    checkpoints, tokenizer = dict(zip(seeds, folders, strict=True)), load_tokenizer(folders[0])
    how = removal, attention.max_tokens, step.device, step.progress
    losses = head_removal.measure_removal(checkpoints, tokenizer, articles, *words, *how)
    step.write(losses=losses)
