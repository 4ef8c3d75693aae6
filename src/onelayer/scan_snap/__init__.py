"""Scan and Snap (Tian, Wang, Chen & Du 2023): how attention of one layer chooses its tokens.

Data flow: `data` (the synthetic task) -> `simulation` (model, gradients, sweeps over learning
rates) -> `measures` (Figs. 4 and 6, the transition). The language model of Fig. 7, its training
and its measures are `language_model`, on articles that `text` has read.
"""
