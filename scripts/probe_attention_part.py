"""Probe a checkpoint's attention on one part of the articles drawn: see `probe_attention`."""

import pandas as pd

from onelayer.papers.topic_structure.wikipedia.probe.attention import opened, probe_articles
from onelayer.papers.topic_structure.wikipedia.probe.sums import write_attention_sums
from onelayer.run.step import Step, program
from onelayer.settings.probe import AttentionProbeSettings


@program(inputs="articles* kept_words model/", outputs="by_head by_distance by_words")
def main(step: Step, attention: AttentionProbeSettings, part: int) -> None:
    kept, probed = pd.read_parquet(step.inputs.kept_words), opened(step, attention, part)
    sums = probe_articles(*probed, kept, attention, step.progress)
    write_attention_sums(sums, **vars(step.outputs))
