"""Probe a checkpoint under every combination of choices, in one pass over the documents."""

import pandas as pd

from onelayer.papers.topic_structure.wikipedia.probe import choices as probe
from onelayer.papers.topic_structure.wikipedia.probe.attention import opened
from onelayer.run.step import Step, program
from onelayer.settings.probe import ProbeSettings
from onelayer.settings.topic_structure import ChoicesSettings


@program(settings=ProbeSettings, inputs="articles* vocabulary topics* model/", outputs="measures")
def main(step: Step, choices: ChoicesSettings) -> None:
    attention, uncertainty = step.settings.attention, step.settings.uncertainty
    vocabulary = pd.read_parquet(step.inputs.vocabulary)
    kept = probe.kept_words(step.inputs.topics, vocabulary, choices)
    probed = opened(step, attention)
    given = kept, vocabulary, choices, attention, uncertainty, step.progress
    step.write(measures=probe.measure_choices(*probed, *given))
