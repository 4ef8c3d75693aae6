"""Provable Gradient-Descent-Based Learning of Decision Lists by Transformers (anonymous)."""
