"""Whether intervals and verdicts are right, measured where the truth is known."""
