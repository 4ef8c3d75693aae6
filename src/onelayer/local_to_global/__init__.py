"""Local to Global (Makkuva et al. 2024): one-layer transformers on binary Markov chains.

The canonical model is a gradient flow of two or three numbers, with everything in closed form:
`canonical`, `basins`, then `integrator`, `simulation` and `drawing`. The whole transformer is
`transformer` with `initialisation`, trained by `training`; `trap` measures its curvature at the
unigram model, and `outcomes` where runs have ended.
"""
