"""Probe a checkpoint: attention sums by pair class over the articles, embeddings of the words."""

import pandas as pd

from onelayer.compute.device import resolve_device
from onelayer.papers.topic_structure.wikipedia.probe.attention import (
    probe_articles,
    sample_articles,
)
from onelayer.papers.topic_structure.wikipedia.probe.embeddings import extract_embeddings
from onelayer.papers.topic_structure.wikipedia.probe.sums import write_attention_sums
from onelayer.papers.topic_structure.wikipedia.probe.vectors import write_embeddings
from onelayer.run.step import Step, run
from onelayer.settings.block import Threads
from onelayer.settings.probe import AttentionProbeSettings
from onelayer.text.models.checkpoints import load_checkpoint
from onelayer.text.models.tokenizer import load_tokenizer


def main(step: Step, attention: AttentionProbeSettings, words: list[str], threads: Threads) -> None:
    outputs = step.outputs
    step.device = resolve_device(attention.device)
    articles = sample_articles(step.inputs.articles, attention)
    kept = pd.read_parquet(step.inputs.kept_words)
    model = load_checkpoint(step.inputs.model, step.device)
    tokenizer = load_tokenizer(step.inputs.model)
    sums = probe_articles(model, tokenizer, articles, kept, attention, step.progress)
    write_attention_sums(sums, outputs.by_head, outputs.by_distance, outputs.by_words)
    vectors = extract_embeddings(model, tokenizer, sorted({*kept["word"], *words}))
    write_embeddings(vectors, outputs.words, outputs.vectors)


if __name__ == "__main__":
    inputs = ["articles*", "kept_words", "model/"]
    run(main, inputs=inputs, outputs=["by_head", "by_distance", "by_words", "words", "vectors"])
