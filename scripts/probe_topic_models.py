"""Probe a checkpoint under many topic models in one pass, and measure its ratios under each."""

import pandas as pd

from onelayer.device import resolve_device
from onelayer.models.checkpoints import load_checkpoint
from onelayer.models.tokenizer import load_tokenizer
from onelayer.papers.topic_structure.probe.attention import sample_articles
from onelayer.papers.topic_structure.probe.topic_models import measure_topic_models
from onelayer.settings.topic_structure import TopicModelProbeSettings
from onelayer.step import Step, run
from onelayer.topics.ambiguity import filter_ambiguous_words
from onelayer.topics.model import read_topic_models


def main(step: Step) -> None:
    settings, vocabulary = step.settings, pd.read_parquet(step.inputs.vocabulary)
    words, kept = vocabulary["word"].tolist(), {}
    for path in step.inputs.topics:
        for fit, topics in read_topic_models(path).items():
            kept[fit] = filter_ambiguous_words(
                topics.word_probability, words, settings.ambiguity, allow_empty=True
            )
    step.device = resolve_device(settings.attention.device)
    measures = measure_topic_models(
        load_checkpoint(step.inputs.model, step.device),
        load_tokenizer(step.inputs.model),
        sample_articles(step.inputs.articles, settings.attention),
        kept,
        vocabulary,
        settings.attention,
        settings.uncertainty,
        step.progress,
    )
    measures.to_parquet(step.outputs.measures, index=False)


if __name__ == "__main__":
    run(
        main,
        settings=TopicModelProbeSettings,
        inputs=["articles*", "vocabulary", "topics*", "model/"],
        outputs=["measures"],
    )
