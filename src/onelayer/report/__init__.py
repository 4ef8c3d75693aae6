"""What is said of a whole run: scoreboard, index, records, crate, comparison with the reference."""
