"""Local to Global: Learning Dynamics and Effect of Initialization (Makkuva et al. 2024).

The canonical model and its gradient flow are in `canonical`, `theory`, `basins` and `simulation`;
transformers on sequences of the chain in `transformer`, `initialisation` and `training`; their trap
in `trap`. A chain has P(1 | 0) = p, P(0 | 1) = q; the unigram model's loss is H(pi), the bigram
model's H_bi.
"""
