"""Measure a model's embeddings and value circuits over all pairs of words: bootstrap, null."""

from onelayer.papers.topic_structure.wikipedia.probe import value_circuit
from onelayer.papers.topic_structure.wikipedia.probe.labels import probed_words
from onelayer.papers.topic_structure.wikipedia.probe.vectors import read_embeddings
from onelayer.run.step import Step, program
from onelayer.settings.block import Seed
from onelayer.settings.probe import UncertaintySettings as Uncertainty


@program(inputs="kept_words vocabulary words* vectors*", outputs="measures circuits")
def main(step: Step, uncertainty: Uncertainty, checkpoint_seeds: list[Seed], control: bool) -> None:
    files = zip(step.inputs.words, step.inputs.vectors, strict=True)
    checkpoints = [read_embeddings(*paths) for paths in files]
    tables = step.read("kept_words"), step.read("vocabulary")
    words = probed_words(*tables, [one.words for one in checkpoints])
    # What other readings say of the first is asked of trained models alone.
    readings = [value_circuit.FIRST] if control else value_circuit.READINGS
    how = uncertainty, checkpoint_seeds, readings, step.progress
    measures, circuits = value_circuit.measure_vectors(checkpoints, *words, *how)
    step.write(measures=measures, circuits=circuits)
