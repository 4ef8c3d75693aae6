"""Pretraining of small models of every family on a corpus, each with its own objective."""

# Quantities of tables: what a training has learned more than words' frequencies, in nats a word;
# what topics tell of hidden words more than these; and the one as a share of the other.
BELOW = "below_frequencies"
TOPICS_BELOW = "topics_below_frequencies"
INFORMATION = "topic_information"
