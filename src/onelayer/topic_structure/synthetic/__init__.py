"""Li, Li & Risteski (2023) on synthetic documents: one-layer models of documents of topics.

Data flow: `data` (documents and masks) -> `model` (loss) -> `train` (many runs at once; the two
stages) -> `optima` (no training), `gaps`, `attention`; `summary` has the rows that tables share.
"""
