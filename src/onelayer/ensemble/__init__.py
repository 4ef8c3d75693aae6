"""Many small models trained as one tensor program: every run of a sweep side by side.

A sweep over seeds, learning rates and initial scales trains the same small model again and again.
Here each parameter carries a leading run dimension, `[runs, ...]`, so that one pass of tensor
operations advances all runs by a step, on CPU or GPU. This package knows no paper: a paper gives
initial parameters, data, and a loss (for autograd) or a function that returns gradients.

    from onelayer.ensemble import Ensemble, Optimizer, RunRandom, train
    from onelayer.ensemble.execution import Checkpoint, Execution

    seeds = torch.arange(640) % 10
    random = RunRandom(seeds)                        # run i's numbers depend on seeds[i] alone
    parameters = {"W": random.normal(3, 5, use="initial W") * scale[:, None, None]}

    def batch(step):                                 # stateless, so that training can resume
        return random.uniform(128, 5, use="inputs", step=step)            # [runs, 128, 5]

    def loss(parameters, x):                         # one number per run, from that run alone
        return (x @ parameters["W"].mT).square().mean(dim=(1, 2))         # [runs]

    rates = torch.logspace(-3, 0, 640)
    trained = train(
        Ensemble(parameters, batch, Optimizer("adam", lr=rates), loss=loss,
                 labels=[f"lr {rate:g}" for rate in rates]),
        steps=1000,
        observe_at=range(0, 1001, 100),
        execution=Execution(checkpoint=Checkpoint(Path("training.safetensors"), "what it is")),
    )
    trained.observed["W"]                            # [11, runs, 3, 5], after 0, 100, ... updates
    trained.losses                                   # [1000, runs], before each update
    trained.diverged_at                              # [runs], -1 where every step was finite

What holds, and is tested: a run is the same whatever else is in its ensemble, to rounding; each run
equals `torch.optim` on a single model; a training killed at any moment and started again gives the
same bytes; a run that stops being finite is frozen and named, and no other run notices. Memory
bounds the number of runs in one ensemble: `train_in_chunks` goes through more of them in turn.

To use a model written for one run, wrap it: `torch.func.vmap(loss_of_one_run)`.
"""

from onelayer.ensemble.optimizers import Optimizer
from onelayer.ensemble.random import RunRandom
from onelayer.ensemble.training import Ensemble, Trained, train, train_in_chunks

__all__ = ["Ensemble", "Optimizer", "RunRandom", "Trained", "train", "train_in_chunks"]
