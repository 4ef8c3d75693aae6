"""Topic structure in trained transformers on Wikipedia (Li, Li & Risteski 2023, section 6).

Data flow: `probe` (one forward pass a document, rows of pairs of words) -> `ratio` (of which topics
words are, the attention ratio and its null) -> `measure`, `similarity` (intervals) -> `published`,
scripts/show_wikipedia.py (tables and figure).
"""
