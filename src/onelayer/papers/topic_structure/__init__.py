"""Li, Li & Risteski (2023): How Do Transformers Learn Topic Structure."""
