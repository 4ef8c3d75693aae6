"""Timings of the fast code against the plain loops of tests/oracle."""
