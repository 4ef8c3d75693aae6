"""Measure how coherent topics fitted to a half of the articles are in the other half."""

from onelayer.run.step import Step, program
from onelayer.settings.block import Seed
from onelayer.settings.topics import NamedLda
from onelayer.text.topics.bag_of_words import read_bag_of_words
from onelayer.text.topics.variation import held_out_coherence


@program(inputs="vocabulary counts", outputs="coherence")
def main(step: Step, models: list[NamedLda], seeds: list[Seed], top_words: int) -> None:
    bag = read_bag_of_words(step.inputs.vocabulary, [step.inputs.counts])
    step.write(coherence=held_out_coherence(bag, models, seeds, top_words, step.progress))
