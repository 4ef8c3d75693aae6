"""Put words of several articles, or of several topics, together as inputs of pretraining."""

from onelayer.run.step import Step, program
from onelayer.settings.pretraining import InputSettings
from onelayer.text.corpus.storage import open_rows, write_rows
from onelayer.text.pretraining.inputs import mix_articles, probability_of_pieces
from onelayer.text.pretraining.text import encoded_articles
from onelayer.text.topics.model import read_topics


@program(inputs="text vocabulary topics* topic_words*", outputs="mixed")
def main(step: Step, inputs: InputSettings) -> None:
    pieces = step.read("vocabulary")["piece"]
    encoded = encoded_articles(open_rows(step.inputs.text), pieces)
    topics = zip(map(read_topics, step.inputs.topics), step.read("topic_words"), strict=True)
    drawn_from = [probability_of_pieces(*one, pieces) for one in topics]
    write_rows(mix_articles(encoded, inputs, *drawn_from), step.outputs.mixed)
