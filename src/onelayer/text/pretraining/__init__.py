"""Pretraining of small models of five architectures, each with its own objective."""
