"""Provable Gradient-Descent-Based Learning of Decision Lists by Transformers (anonymous).

Read in this order: `data` (lists, sequences, the constants of both theorems), `theorem_1` (W alone,
exactly), `model` (loss and gradients), `training` (the one loop, and W, V or both on their way),
`runs` (which are trained, Theorem 2). The paper has no figures and no numbers but its two bounds,
and names no constants: gamma and delta are ours.
"""
