"""Probe a checkpoint under every combination of choices, in one pass over the documents."""

from onelayer.papers.topic_structure.wikipedia.probe.attention import opened
from onelayer.papers.topic_structure.wikipedia.probe.choices import kept_words, measure_choices
from onelayer.run.step import Step, program
from onelayer.settings.probe import ProbeSettings
from onelayer.settings.topic_structure import ChoicesSettings


@program(settings=ProbeSettings, inputs="articles* vocabulary topics* model/", outputs="measures")
def main(step: Step, choices: ChoicesSettings) -> None:
    kept = kept_words(step.inputs.topics, step.read("vocabulary"), choices)
    step.write(measures=measure_choices(*opened(step), kept, choices, step.settings, step.progress))
