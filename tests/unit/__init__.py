"""Unit tests: one claim about the library each."""
