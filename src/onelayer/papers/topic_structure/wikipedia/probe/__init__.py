"""The topic probe of trained transformers (Li, Li & Risteski 2023): statistics and null models.

Which module is behind which claim, table and figure: `onelayer.papers.topic_structure`.
"""
