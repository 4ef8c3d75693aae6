"""Li, Li & Risteski (2023) on synthetic documents: one-layer models of documents of topics."""
