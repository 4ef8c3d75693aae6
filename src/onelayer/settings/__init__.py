"""Typed settings: one module per room, `root` for the whole of `config.yaml`."""
