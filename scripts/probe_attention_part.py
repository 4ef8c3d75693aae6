"""Probe a checkpoint's attention on one part of the articles drawn: see `probe_attention`."""

from onelayer.papers.topic_structure.wikipedia.probe.attention import opened, probe_articles
from onelayer.papers.topic_structure.wikipedia.probe.sums import write_attention_sums
from onelayer.run.step import Step, program
from onelayer.settings.probe import AttentionProbeSettings


@program(inputs="articles* kept_words model/", outputs="by_head by_distance by_words")
def main(step: Step, attention: AttentionProbeSettings, part: int) -> None:
    given = *opened(step, part), step.read("kept_words"), attention
    write_attention_sums(probe_articles(*given, step.progress), **vars(step.outputs))
