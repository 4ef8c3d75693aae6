"""The stages from text to models: corpora, topic models, checkpoints, pretraining."""
