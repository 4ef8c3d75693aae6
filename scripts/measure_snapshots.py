"""Measure the ratios of a pretrained model at each of its snapshots, all in one process."""

import pandas as pd

from onelayer.compute.device import resolve_device
from onelayer.papers.topic_structure.wikipedia.probe.attention import sample_articles
from onelayer.papers.topic_structure.wikipedia.probe.labels import tightest_variant
from onelayer.papers.topic_structure.wikipedia.probe.repeated import measure_snapshots
from onelayer.run.step import Step, run
from onelayer.settings.block import Seed, Threads
from onelayer.settings.probe import AttentionProbeSettings, UncertaintySettings
from onelayer.text.models.tokenizer import load_tokenizer
from onelayer.text.pretraining.storage import read_snapshots


def main(
    step: Step,
    attention: AttentionProbeSettings,
    uncertainty: UncertaintySettings,
    checkpoint_seeds: list[Seed],
    threads: Threads,
) -> None:
    step.device = resolve_device(attention.device)
    files = zip(checkpoint_seeds, step.inputs.snapshots, strict=True)
    measures = measure_snapshots(
        {seed: read_snapshots(step.inputs.model, path, step.device) for seed, path in files},
        load_tokenizer(step.inputs.model),
        sample_articles(step.inputs.articles, attention),
        tightest_variant(pd.read_parquet(step.inputs.kept_words)),
        pd.read_parquet(step.inputs.vocabulary),
        attention,
        uncertainty,
        step.progress,
    )
    measures.to_parquet(step.outputs.measures, index=False)


if __name__ == "__main__":
    inputs = ["snapshots*", "model/", "articles*", "kept_words", "vocabulary"]
    run(main, inputs=inputs, outputs=["measures"])
