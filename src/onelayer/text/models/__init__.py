"""Checkpoints: how pretrained and randomly initialised models are loaded, checked and made."""
