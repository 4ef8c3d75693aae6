"""Measure a model's embeddings and value circuits over all pairs of words: bootstrap, null."""

import pandas as pd

from onelayer.papers.topic_structure.wikipedia.probe import labels, measures
from onelayer.papers.topic_structure.wikipedia.probe.value_circuit import (
    READINGS,
    circuits_of,
    measure_circuits,
)
from onelayer.papers.topic_structure.wikipedia.probe.vectors import read_embeddings
from onelayer.run.step import Step, program
from onelayer.settings.block import Seed
from onelayer.settings.probe import UncertaintySettings


@program(inputs="kept_words vocabulary words* vectors*", outputs="measures circuits")
def main(
    step: Step, uncertainty: UncertaintySettings, checkpoint_seeds: list[Seed], control: bool
) -> None:
    files = zip(step.inputs.words, step.inputs.vectors, strict=True)
    embeddings = [read_embeddings(*paths) for paths in files]
    kept = pd.read_parquet(step.inputs.kept_words)
    labelled = labels.labels_of(kept, [vectors.words for vectors in embeddings])
    frequencies = labels.frequencies_of(labelled, pd.read_parquet(step.inputs.vocabulary))
    vectors, variants = [one.of(labelled.words) for one in embeddings], labels.variants_of(kept)
    measured = measures.measure_embeddings(
        vectors, variants, labelled, frequencies, uncertainty, step.progress, checkpoint_seeds
    )
    checkpoints = step.progress(embeddings, unit="checkpoint")
    circuits = (circuits_of(one, labelled.words) for one in checkpoints)
    # What other readings say of the first is asked of trained models alone.
    readings = list(READINGS)[: 1 if control else None]
    tightest = variants[0], labelled.membership[0], frequencies
    gaps = measure_circuits(circuits, *tightest, uncertainty, readings, checkpoint_seeds)
    step.write(measures=measured, circuits=gaps)
