"""Put words of several articles, or of several topics, together as inputs of pretraining."""

import numpy as np
import pandas as pd

from onelayer.run.step import Step, program
from onelayer.settings.pretraining import InputSettings
from onelayer.text.corpus.storage import open_rows, write_rows
from onelayer.text.pretraining.inputs import mix_articles
from onelayer.text.pretraining.text import encoded_articles
from onelayer.text.topics.model import read_topics


@program(inputs="text vocabulary topics* topic_words*", outputs="mixed")
def main(step: Step, inputs: InputSettings) -> None:
    pieces = pd.read_parquet(step.inputs.vocabulary)["piece"]
    encoded = encoded_articles(open_rows(step.inputs.text), pieces)
    drawn_from = None
    for topics, words in zip(step.inputs.topics, step.inputs.topic_words, strict=True):
        known = pd.Index(pieces).get_indexer(pd.read_parquet(words)["word"])
        probability = read_topics(topics).word_probability[:, known >= 0]
        drawn_from = np.zeros((len(probability), len(pieces)))
        drawn_from[:, known[known >= 0]] = probability / probability.sum(axis=1, keepdims=True)
    write_rows(mix_articles(encoded, inputs, drawn_from), step.outputs.mixed)
