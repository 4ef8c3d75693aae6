"""Pretraining of small models of every family on a corpus, each with its own objective."""

# Quantities of tables: what a training has learned more than words' frequencies, as a share of what
# topics tell of hidden words, or in nats a word.
INFORMATION = "topic_information"
BELOW = "below_frequencies"
