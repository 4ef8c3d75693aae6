"""Measure a model's loss on words without the heads of the largest ratios, and without others."""

from onelayer.compute.device import resolve_device
from onelayer.papers.topic_structure.wikipedia.head_removal import without_losses
from onelayer.run.step import Step, program
from onelayer.settings.block import Seed
from onelayer.settings.probe import AttentionProbeSettings as Attention
from onelayer.settings.topic_structure import HeadRemovalSettings as Removal
from onelayer.text.models.folder import published_bare


@program(
    inputs="articles* trained_on* encoded* kept_words vocabulary heads models/*", outputs="losses"
)
def main(step: Step, removal: Removal, attention: Attention, checkpoint_seeds: list[Seed]) -> None:
    inputs = step.inputs
    if bare := published_bare(inputs.models[0]):
        step.write(losses=without_losses(bare))
        return
    # transformers takes seconds, which a model without a head does not need
    from onelayer.papers.topic_structure.wikipedia.probe import head_removal

    step.device = resolve_device(attention.device)
    texts = inputs.articles, inputs.trained_on, inputs.encoded
    articles = head_removal.unseen_articles(*texts, attention, removal)
    tables = map(step.read, ("kept_words", "vocabulary", "heads"))
    how = removal, attention.max_tokens, step.device, step.progress
    given = inputs.models, checkpoint_seeds, articles, *tables
    step.write(losses=head_removal.measure_removal(*given, *how))
