"""A run to take away: a Workflow Run RO-Crate, from its steps' records to a zip and back."""
