"""Probe a checkpoint under many topic models in one pass, and measure its ratios under each."""

from onelayer.papers.topic_structure.wikipedia.probe import repeated
from onelayer.papers.topic_structure.wikipedia.probe.attention import opened
from onelayer.run.step import Step, program
from onelayer.settings.probe import ProbeSettings
from onelayer.settings.topics import AmbiguitySettings


@program(settings=ProbeSettings, inputs="articles* vocabulary topics* model/", outputs="measures")
def main(step: Step, ambiguity: AmbiguitySettings) -> None:
    vocabulary = step.read("vocabulary")
    kept = repeated.kept_words(step.inputs.topics, vocabulary, ambiguity)
    given = *opened(step), kept, vocabulary, step.settings
    step.write(measures=repeated.measure_topic_models(*given, step.progress))
