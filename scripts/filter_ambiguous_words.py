"""Keep each topic's most representative words, for every overlap mode and threshold."""

from onelayer.run.step import Step, program
from onelayer.settings.topics import AmbiguitySettings
from onelayer.text.topics.ambiguity import filter_ambiguous_words
from onelayer.text.topics.model import read_topics


@program(inputs="vocabulary topics", outputs="kept_words")
def main(step: Step, ambiguity: AmbiguitySettings) -> None:
    words = step.read("vocabulary")["word"].tolist()
    topics = read_topics(step.inputs.topics)
    step.write(kept_words=filter_ambiguous_words(topics.word_probability, words, ambiguity))
