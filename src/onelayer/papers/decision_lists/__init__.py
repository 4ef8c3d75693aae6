"""Provable Gradient-Descent-Based Learning of Decision Lists by Transformers (anonymous).

The model, f_{W,V}(X) = softmax(V X softmax(X^T W X)), its loss and gradients are in `model`;
theorem 1 is followed in `reduced` and `full`, theorem 2 and joint training in `joint`, the
constants of both bounds in `constants`. The paper has no figures and no numbers but its bounds: all
figures are ours.
"""
