"""What is said of a whole run: scoreboard, index, manifest, comparison with the reference."""
