"""Probe a checkpoint's attention on one part of the articles drawn: see `probe_attention`."""

import pandas as pd

from onelayer.compute.device import resolve_device
from onelayer.papers.topic_structure.wikipedia.probe.attention import (
    probe_articles,
    sample_articles,
)
from onelayer.papers.topic_structure.wikipedia.probe.sums import write_attention_sums
from onelayer.run.step import Step, run
from onelayer.settings.block import Threads
from onelayer.settings.probe import AttentionProbeSettings
from onelayer.text.models.checkpoints import load_checkpoint
from onelayer.text.models.tokenizer import load_tokenizer


def main(step: Step, attention: AttentionProbeSettings, part: int, threads: Threads) -> None:
    step.device = resolve_device(attention.device)
    sums = probe_articles(
        load_checkpoint(step.inputs.model, step.device),
        load_tokenizer(step.inputs.model),
        sample_articles(step.inputs.articles, attention, part),
        pd.read_parquet(step.inputs.kept_words),
        attention,
        step.progress,
    )
    write_attention_sums(sums, **vars(step.outputs))


if __name__ == "__main__":
    inputs = ["articles*", "kept_words", "model/"]
    run(main, inputs=inputs, outputs=["by_head", "by_distance", "by_words"])
