"""Topic structure in trained transformers on Wikipedia (Li, Li & Risteski 2023, section 6).

Data flow: `words` (topics of words) -> `probe` (one forward pass a document, rows of pairs of
words) -> `ratio` (the attention ratio and its null) -> `measure` (intervals) ->
scripts/show_wikipedia.py (tables and figure).
"""
