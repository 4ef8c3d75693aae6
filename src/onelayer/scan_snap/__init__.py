"""Scan and Snap (Tian, Wang, Chen & Du 2023): how attention of one layer chooses its tokens.

Data flow: `data` (the synthetic task) -> `simulation` (model, gradients, sweeps over learning
rates) -> `measures` (Figs. 4 and 6, the transition). Fig. 7 is `language_model`: its text, the
model, its training and its measures.
"""
