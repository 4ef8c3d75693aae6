"""Probe a checkpoint under many topic models in one pass, and measure its ratios under each."""

import pandas as pd

from onelayer.compute.device import resolve_device
from onelayer.papers.topic_structure.wikipedia.probe import repeated
from onelayer.papers.topic_structure.wikipedia.probe.attention import sample_articles
from onelayer.run.step import Step, run
from onelayer.settings.block import Threads
from onelayer.settings.probe import AttentionProbeSettings, UncertaintySettings
from onelayer.settings.topics import AmbiguitySettings
from onelayer.text.models.checkpoints import load_checkpoint
from onelayer.text.models.tokenizer import load_tokenizer


def main(
    step: Step,
    ambiguity: AmbiguitySettings,
    attention: AttentionProbeSettings,
    uncertainty: UncertaintySettings,
    threads: Threads,
) -> None:
    vocabulary = pd.read_parquet(step.inputs.vocabulary)
    step.device = resolve_device(attention.device)
    measures = repeated.measure_topic_models(
        load_checkpoint(step.inputs.model, step.device),
        load_tokenizer(step.inputs.model),
        sample_articles(step.inputs.articles, attention),
        repeated.kept_words(step.inputs.topics, vocabulary, ambiguity),
        vocabulary,
        attention,
        uncertainty,
        step.progress,
    )
    measures.to_parquet(step.outputs.measures, index=False)


if __name__ == "__main__":
    inputs = ["articles*", "vocabulary", "topics*", "model/"]
    run(main, inputs=inputs, outputs=["measures"])
