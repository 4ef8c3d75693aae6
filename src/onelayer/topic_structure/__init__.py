"""Topic structure (Li, Li & Risteski 2023): Wikipedia and synthetic documents."""
