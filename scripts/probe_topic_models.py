"""Probe a checkpoint under many topic models in one pass, and measure its ratios under each."""

import pandas as pd

from onelayer.papers.topic_structure.wikipedia.probe import repeated
from onelayer.papers.topic_structure.wikipedia.probe.attention import opened
from onelayer.run.step import Step, program
from onelayer.settings.probe import ProbeSettings
from onelayer.settings.topics import AmbiguitySettings


@program(settings=ProbeSettings, inputs="articles* vocabulary topics* model/", outputs="measures")
def main(step: Step, ambiguity: AmbiguitySettings) -> None:
    probe, vocabulary = step.settings, pd.read_parquet(step.inputs.vocabulary)
    words = repeated.kept_words(step.inputs.topics, vocabulary, ambiguity), vocabulary
    probed, how = opened(step, probe.attention), (probe.attention, probe.uncertainty)
    step.write(measures=repeated.measure_topic_models(*probed, *words, *how, step.progress))
