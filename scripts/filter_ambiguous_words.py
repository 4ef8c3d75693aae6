"""Keep each topic's most representative words, for every overlap mode and threshold."""

import pandas as pd

from onelayer.run.step import Step, run
from onelayer.settings.topics import AmbiguitySettings
from onelayer.text.topics.ambiguity import filter_ambiguous_words
from onelayer.text.topics.model import read_topics


def main(step: Step, ambiguity: AmbiguitySettings) -> None:
    words = pd.read_parquet(step.inputs.vocabulary)["word"].tolist()
    topics = read_topics(step.inputs.topics)
    kept = filter_ambiguous_words(topics.word_probability, words, ambiguity)
    kept.to_parquet(step.outputs.kept_words, index=False)


if __name__ == "__main__":
    run(main, inputs=["vocabulary", "topics"], outputs=["kept_words"])
