"""The synthetic experiments of Li, Li & Risteski (2023): data, model, closed forms, training.

Which module is behind which claim, table and figure: `onelayer.papers.topic_structure`.
"""
