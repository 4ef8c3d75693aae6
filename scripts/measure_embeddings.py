"""Measure a model's embedding ratios over all pairs of words: word bootstrap, permutation null."""

import pandas as pd

from onelayer.papers.topic_structure.wikipedia.probe.labels import (
    frequencies_of,
    labels_of,
    variants_of,
)
from onelayer.papers.topic_structure.wikipedia.probe.measures import measure_embeddings
from onelayer.papers.topic_structure.wikipedia.probe.vectors import read_embeddings
from onelayer.run.step import Step, run
from onelayer.settings.block import Seed, Threads
from onelayer.settings.probe import UncertaintySettings


def main(
    step: Step, uncertainty: UncertaintySettings, checkpoint_seeds: list[Seed], threads: Threads
) -> None:
    files = zip(step.inputs.words, step.inputs.vectors, strict=True)
    embeddings = [read_embeddings(*paths) for paths in files]
    kept = pd.read_parquet(step.inputs.kept_words)
    labels = labels_of(kept, [vectors.words for vectors in embeddings])
    frequencies = frequencies_of(labels, pd.read_parquet(step.inputs.vocabulary))
    checkpoints = [vectors.of(labels.words) for vectors in embeddings]
    measures = measure_embeddings(
        checkpoints,
        variants_of(kept),
        labels,
        frequencies,
        uncertainty,
        step.progress,
        checkpoint_seeds,
    )
    measures.to_parquet(step.outputs.measures, index=False)


if __name__ == "__main__":
    inputs = ["kept_words", "vocabulary", "words*", "vectors*"]
    run(main, inputs=inputs, outputs=["measures"])
