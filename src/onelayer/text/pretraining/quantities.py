"""Names of what is measured of trainings afterwards: no training depends on them."""

from onelayer.text.pretraining import BELOW

# What topics tell of hidden words more than frequencies do (nats a word).
TOPICS_BELOW = f"topics_{BELOW}"
