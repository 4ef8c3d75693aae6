"""The topic probe of trained transformers (Li, Li & Risteski 2023): statistics and null models."""
