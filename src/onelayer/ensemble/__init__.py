"""Many small models trained as one tensor program: every run of a sweep side by side.

Each parameter carries a leading run dimension, `[runs, ...]`. A paper gives initial parameters,
data, and a loss (for autograd) or a function that returns gradients; docs/python.md has an example.
A run is the same whatever else is in its ensemble, to rounding, and equals `torch.optim` on one
model; a killed training goes on to the same bytes; a run that stops being finite is frozen and
named. A loss of one run becomes one of all by `torch.func.vmap(loss_of_one_run)`.
"""

from onelayer.ensemble.optimizers import Optimizer
from onelayer.ensemble.random import RunRandom
from onelayer.ensemble.training import Ensemble, Trained, train, train_in_chunks

__all__ = ["Ensemble", "Optimizer", "RunRandom", "Trained", "train", "train_in_chunks"]
