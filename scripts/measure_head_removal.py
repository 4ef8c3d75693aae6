"""Measure a model's loss on words without the heads of the largest ratios, and without others."""

from onelayer.compute.execution import execution_on
from onelayer.papers.topic_structure.wikipedia.probe.removals import topics_of_words, without_losses
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
    from onelayer.text.models.tokenizer import load_tokenizer

    texts = inputs.articles, inputs.trained_on, inputs.encoded
    articles = head_removal.unseen_articles(*texts, attention, removal)
    words = step.read("vocabulary"), topics_of_words(step.read("kept_words"))
    asked = load_tokenizer(inputs.models[0]), *words, removal, attention.max_tokens
    ask, run = head_removal.Questioner(*asked), execution_on(attention.device, step)
    given = articles, ask, step.read("heads"), run
    step.write(losses=head_removal.measure_removal(inputs.models, checkpoint_seeds, *given))
