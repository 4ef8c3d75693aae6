"""Li, Li & Risteski (2023) on synthetic documents: one-layer models of documents of topics.

Data flow: `data` (documents and masks) -> `model` (loss) -> `train` (many runs at once) -> what the
tables are about: `optima`, `gaps` (those and trained ones), `two_stages` and `attention`; `summary`
has the rows they share.
"""
