"""Names of what is measured of trainings afterwards: no training depends on them."""

from onelayer.text.pretraining import BELOW

# What topics tell of hidden words more than frequencies do (nats a word).
TOPICS_BELOW = f"topics_{BELOW}"
# The same of the topics of a hidden word's own article, in inputs of several: what is still to gain
# from knowing which of the words in sight are of its article.
OWN_BELOW = f"own_{TOPICS_BELOW}"
