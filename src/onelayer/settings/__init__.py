"""Typed settings: one module per stage or paper, `root` for the whole of `config.yaml`."""
