"""How a step runs: command line, record, what decides it, and the runs around it."""
