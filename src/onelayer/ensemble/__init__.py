"""Many small models trained as one tensor program: every run of a sweep side by side.

Each parameter carries a leading run dimension, `[runs, ...]`, so that one pass of tensor operations
advances all runs by a step, on CPU or GPU. This package knows no paper: a paper gives initial
parameters, data, and a loss (for autograd) or a function that returns gradients.

    from onelayer.ensemble import Ensemble, Optimizer, RunRandom, train

    random = RunRandom(torch.arange(640) % 10)       # run i's numbers depend on seeds[i] alone
    parameters = {"W": random.normal(3, 5, use="initial W") * scale[:, None, None]}

    def batch(step):                                 # stateless, so that training can resume
        return random.uniform(128, 5, use="inputs", step=step)            # [runs, 128, 5]

    def loss(parameters, x):                         # one number per run, from that run alone
        return (x @ parameters["W"].mT).square().mean(dim=(1, 2))         # [runs]

    adam = Optimizer("adam", lr=torch.logspace(-3, 0, 640))
    trained = train(Ensemble(parameters, batch, adam, loss=loss), 1000, observe_at=[0, 1000])
    trained.observed["W"]                            # [2, runs, 3, 5]
    trained.losses                                   # [1000, runs], before each update
    trained.diverged_at                              # [runs], -1 where every step was finite

A run is the same whatever else is in its ensemble, to rounding, and equals `torch.optim` on one
model; a killed training goes on to the same bytes; a run that stops being finite is frozen and
named. A loss of one run becomes one of all by `torch.func.vmap(loss_of_one_run)`.
"""

from onelayer.ensemble.optimizers import Optimizer
from onelayer.ensemble.random import RunRandom
from onelayer.ensemble.training import Ensemble, Trained, train, train_in_chunks

__all__ = ["Ensemble", "Optimizer", "RunRandom", "Trained", "train", "train_in_chunks"]
