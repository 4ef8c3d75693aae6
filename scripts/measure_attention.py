"""Measure a model's attention ratios: bootstrap intervals, permutation null, distance standard."""

from onelayer.papers.topic_structure.wikipedia.probe import measures
from onelayer.papers.topic_structure.wikipedia.probe.labels import probed_words
from onelayer.papers.topic_structure.wikipedia.probe.sums import read_attention_sums
from onelayer.run.step import Step, program
from onelayer.settings.block import Seed
from onelayer.settings.probe import UncertaintySettings


@program(inputs="kept_words vocabulary by_head* by_distance* by_words*", outputs="measures heads")
def main(step: Step, uncertainty: UncertaintySettings, checkpoint_seeds: list[Seed]) -> None:
    files = zip(step.inputs.by_head, step.inputs.by_distance, step.inputs.by_words, strict=True)
    checkpoints = [read_attention_sums(*paths) for paths in files]
    tables = step.read("kept_words"), step.read("vocabulary")
    _, *words = probed_words(*tables, [sums.words for sums in checkpoints])
    ratios = measures.measure_attention(checkpoints, *words, uncertainty, checkpoint_seeds)
    step.write(measures=ratios, heads=measures.measure_heads(checkpoints, checkpoint_seeds))
