"""Provable Gradient-Descent-Based Learning of Decision Lists by Transformers (anonymous).

Read in this order: `data` (lists, sequences), `model` (loss and gradients), `theorem_1` (W alone,
exactly), `attention` (W alone, the whole matrix trained), `value` (V alone), `theorem_2` (both).
The paper has no figures and no numbers but its two bounds, and names no constants.
"""
