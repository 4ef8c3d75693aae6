"""The synthetic experiments of Li, Li & Risteski (2023): data, model, closed forms, training."""
