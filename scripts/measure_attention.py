"""Measure a model's attention ratios: bootstrap intervals, permutation null, distance standard."""

import pandas as pd

from onelayer.papers.topic_structure.wikipedia.probe.labels import frequencies_of, labels_of
from onelayer.papers.topic_structure.wikipedia.probe.measures import (
    measure_attention,
    measure_heads,
)
from onelayer.papers.topic_structure.wikipedia.probe.sums import read_attention_sums
from onelayer.run.step import Step, run
from onelayer.settings.block import Seed, Threads
from onelayer.settings.probe import UncertaintySettings


def main(
    step: Step, uncertainty: UncertaintySettings, checkpoint_seeds: list[Seed], threads: Threads
) -> None:
    files = zip(step.inputs.by_head, step.inputs.by_distance, step.inputs.by_words, strict=True)
    checkpoints = [read_attention_sums(*paths) for paths in files]
    kept = pd.read_parquet(step.inputs.kept_words)
    labels = labels_of(kept, [sums.words for sums in checkpoints])
    frequencies = frequencies_of(labels, pd.read_parquet(step.inputs.vocabulary))
    measures = measure_attention(checkpoints, labels, frequencies, uncertainty, checkpoint_seeds)
    measures.to_parquet(step.outputs.measures, index=False)
    heads = measure_heads(checkpoints, checkpoint_seeds)
    heads.to_parquet(step.outputs.heads, index=False)


if __name__ == "__main__":
    inputs = ["kept_words", "vocabulary", "by_head*", "by_distance*", "by_words*"]
    run(main, inputs=inputs, outputs=["measures", "heads"])
