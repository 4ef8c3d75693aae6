"""Scan and Snap (Tian, Wang, Chen & Du 2023): how attention of one layer chooses its tokens.

Data flow: `data` (the synthetic task) -> `simulation` (model, gradients, sweeps over learning
rates) -> `measures` (Fig. 4, the transition) and `entropies` (Fig. 6). The language model of
Fig. 7, its training and its measures are `language_model`, on articles that `text` has read.
"""
