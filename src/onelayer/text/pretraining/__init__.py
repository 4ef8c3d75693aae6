"""Pretraining of small models of every family on a corpus, each with its own objective."""
