"""Slow, plain-loop implementations of the definitions, and the fast code compared with them."""
