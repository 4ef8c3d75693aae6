"""Scan and Snap (Tian, Wang, Chen & Du 2023): how attention of one layer chooses its tokens.

Data flow: `data` (the synthetic task) -> `model` (loss and gradients) -> `simulation` (sweeps over
learning rates) -> `measures` (Fig. 4, the transition) and `entropies` (Fig. 6). The language model
of Fig. 7 is `language_model`, which `text_training` trains on articles that `text` has read.
"""
