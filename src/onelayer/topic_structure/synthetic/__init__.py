"""Li, Li & Risteski (2023) on synthetic documents: one-layer models of documents of topics.

Data flow: `data` (documents and masks) -> `model` (loss) -> `train` (many runs at once) -> what the
tables are about: `gaps` beside the `optima` under uniform attention, `two_stages`, `stage_two` and
`attention`; `summary` has the rows they share.
"""
