"""Measure the ratios of a pretrained model at each of its snapshots, all in one process."""

import pandas as pd

from onelayer.compute.device import resolve_device
from onelayer.papers.topic_structure.wikipedia.probe.attention import sample_articles
from onelayer.papers.topic_structure.wikipedia.probe.repeated import measure_snapshots
from onelayer.run.step import Step, program
from onelayer.settings.pretraining import PretrainModelSettings
from onelayer.settings.probe import ProbeSettings
from onelayer.settings.topics import LdaSettings
from onelayer.text.models.tokenizer import load_tokenizer
from onelayer.text.pretraining.storage import read_snapshots
from onelayer.text.pretraining.topic_information import KnownTopics, measure_learned
from onelayer.text.topics.model import read_topics


@program(
    settings=ProbeSettings,
    inputs="snapshots* histories* model/ text pieces topics articles* kept_words vocabulary",
    outputs="measures",
)
def main(step: Step, trainings: list[PretrainModelSettings], lda: LdaSettings) -> None:
    inputs, vocabulary = step.inputs, step.read("vocabulary")
    step.device = resolve_device(step.settings.attention.device)
    files = zip([training.seed for training in trainings], inputs.snapshots, strict=True)
    runs = {seed: read_snapshots(inputs.model, path, step.device) for seed, path in files}
    articles = sample_articles(inputs.articles, step.settings.attention)
    given = load_tokenizer(inputs.model), articles, step.read("kept_words"), vocabulary
    measures = measure_snapshots(runs, *given, step.settings, step.progress)
    pieces = step.read("pieces")["piece"]
    topic_model = KnownTopics(read_topics(inputs.topics), vocabulary, lda, pieces)
    learned = measure_learned(trainings, inputs.histories, inputs.text, inputs.pieces, topic_model)
    step.write(measures=pd.concat([measures, learned], ignore_index=True))
