"""Measure the ratios of a pretrained model at each of its snapshots, all in one process."""

import pandas as pd

from onelayer.compute.device import resolve_device
from onelayer.papers.topic_structure.wikipedia.probe.attention import sample_articles
from onelayer.papers.topic_structure.wikipedia.probe.labels import tightest_variant
from onelayer.papers.topic_structure.wikipedia.probe.repeated import measure_snapshots
from onelayer.run.step import Step, program
from onelayer.settings.pretraining import PretrainModelSettings
from onelayer.settings.probe import ProbeSettings
from onelayer.settings.topics import LdaSettings
from onelayer.text.models.tokenizer import load_tokenizer
from onelayer.text.pretraining.storage import read_snapshots
from onelayer.text.pretraining.topic_information import KnownTopics, measure_shares
from onelayer.text.topics.model import read_topics


@program(
    settings=ProbeSettings,
    inputs="snapshots* histories* model/ text pieces topics articles* kept_words vocabulary",
    outputs="measures",
)
def main(step: Step, trainings: list[PretrainModelSettings], lda: LdaSettings) -> None:
    inputs, probe = step.inputs, step.settings
    step.device = resolve_device(probe.attention.device)
    seeds = [training.seed for training in trainings]
    files = zip(seeds, inputs.snapshots, strict=True)
    runs = {seed: read_snapshots(inputs.model, path, step.device) for seed, path in files}
    tokenizer = load_tokenizer(inputs.model)
    articles = sample_articles(inputs.articles, probe.attention)
    kept, vocabulary = map(pd.read_parquet, (inputs.kept_words, inputs.vocabulary))
    words, how = (tightest_variant(kept), vocabulary), (probe.attention, probe.uncertainty)
    measures = measure_snapshots(runs, tokenizer, articles, *words, *how, step.progress)
    pieces = pd.read_parquet(inputs.pieces)["piece"]
    known = KnownTopics.of(read_topics(inputs.topics), vocabulary, lda, pieces)
    shares = measure_shares(trainings, inputs.histories, inputs.text, inputs.pieces, known)
    step.write(measures=pd.concat([measures, shares], ignore_index=True))
