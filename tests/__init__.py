"""Tests of onelayer."""
