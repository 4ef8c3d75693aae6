"""Keep each topic's most representative words, for every overlap mode and threshold."""

from onelayer.settings.topics import AmbiguitySettings
from onelayer.step import Step, run
from onelayer.topics.ambiguity import filter_ambiguous_words
from onelayer.topics.bag_of_words import read_bag_of_words
from onelayer.topics.model import read_topics


def main(step: Step) -> None:
    bag = read_bag_of_words(step.inputs.vocabulary, step.inputs.counts)
    topics = read_topics(step.inputs.topics)
    kept = filter_ambiguous_words(topics.word_probability, bag.words, step.settings)
    kept.to_parquet(step.outputs.kept_words, index=False)


if __name__ == "__main__":
    run(
        main,
        settings=AmbiguitySettings,
        inputs=["vocabulary", "counts", "topics"],
        outputs=["kept_words"],
    )
