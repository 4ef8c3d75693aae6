"""Provable Gradient-Descent-Based Learning of Decision Lists by Transformers (anonymous).

Read in this order: `data` (lists, sequences, the constants of both theorems), `model` (loss and
gradients), `reduced` and `theorem_1` (Theorem 1, exactly), `training` (the one loop), `attention`
(W alone), `joint` (V alone; W and V together, Theorem 2). The paper has no figures and no numbers
but its two bounds, and names no constants: gamma and delta are ours.
"""
