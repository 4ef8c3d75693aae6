"""Probe a checkpoint's attention on one part of the articles drawn: see `probe_attention`."""

import pandas as pd

from onelayer.device import resolve_device
from onelayer.models.checkpoints import load_checkpoint
from onelayer.models.tokenizer import load_tokenizer
from onelayer.papers.topic_structure.probe.attention import probe_articles, sample_articles
from onelayer.papers.topic_structure.probe.sums import write_attention_sums
from onelayer.settings.block import Threads
from onelayer.settings.probe import AttentionProbeSettings
from onelayer.step import Step, run


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
