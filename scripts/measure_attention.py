"""Measure a model's attention ratios: bootstrap intervals, permutation null, distance standard."""

import pandas as pd

from onelayer.papers.topic_structure.wikipedia.probe import measures
from onelayer.papers.topic_structure.wikipedia.probe.labels import frequencies_of, labels_of
from onelayer.papers.topic_structure.wikipedia.probe.sums import read_attention_sums
from onelayer.run.step import Step, program
from onelayer.settings.block import Seed
from onelayer.settings.probe import UncertaintySettings


@program(inputs="kept_words vocabulary by_head* by_distance* by_words*", outputs="measures heads")
def main(step: Step, uncertainty: UncertaintySettings, checkpoint_seeds: list[Seed]) -> None:
    files = zip(step.inputs.by_head, step.inputs.by_distance, step.inputs.by_words, strict=True)
    checkpoints = [read_attention_sums(*paths) for paths in files]
    kept = pd.read_parquet(step.inputs.kept_words)
    labels = labels_of(kept, [sums.words for sums in checkpoints])
    frequencies = frequencies_of(labels, pd.read_parquet(step.inputs.vocabulary))
    given = checkpoints, labels, frequencies, uncertainty, checkpoint_seeds
    attention = measures.measure_attention(*given)
    step.write(measures=attention, heads=measures.measure_heads(checkpoints, checkpoint_seeds))
