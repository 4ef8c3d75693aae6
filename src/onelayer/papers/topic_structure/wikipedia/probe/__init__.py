"""The topic probe of trained transformers (Li, Li & Risteski 2023): statistics and null models.

Which module is behind which claim, table and figure: `onelayer.papers.topic_structure`.

Everywhere here `kept` is the table of words of `onelayer.text.topics.ambiguity`, `vocabulary` has
rows `word`, `occurrences` of the bag of words, and `seeds` are of checkpoints, where several are.
"""
