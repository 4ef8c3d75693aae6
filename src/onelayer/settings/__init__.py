"""Typed settings: `config.yaml` and its overlays, validated once, when the workflow is read."""
