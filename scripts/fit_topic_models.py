"""Fit topic models of one size by several backends with several seeds, and measure each."""

from onelayer.run.step import Step, program
from onelayer.settings.block import Seed
from onelayer.settings.topics import Backend, LdaSettings, Weights
from onelayer.text.corpus.storage import read_column
from onelayer.text.topics.bag_of_words import read_bag_of_words
from onelayer.text.topics.model import Fit, write_topic_models
from onelayer.text.topics.variation import fit_topic_models


@program(inputs="articles* vocabulary counts*", outputs="topics quality")
def main(
    step: Step,
    lda: LdaSettings,
    backends: list[Backend],
    seeds: list[Seed],
    top_words: int,
    weights: Weights,
) -> None:
    bag = read_bag_of_words(step.inputs.vocabulary, step.inputs.counts)
    fits = [Fit(backend, lda.topics, seed) for backend in backends for seed in seeds]
    given = bag, [*read_column(step.inputs.articles, "label")], lda, fits, top_words
    models, quality = fit_topic_models(*given, step.progress, weights)
    write_topic_models(models, step.outputs.topics)
    step.write(quality=quality)
