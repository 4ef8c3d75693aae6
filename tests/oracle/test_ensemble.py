"""Each run of an ensemble equals a single model trained with torch.optim, alone."""

import functools

import pytest
import torch

from onelayer.compute.checkpoint import Checkpoint
from onelayer.compute.ensemble import Ensemble, Optimizer, RunRandom, train, train_in_chunks
from onelayer.compute.execution import Execution

RUNS, STEPS = 6, 25
LR = torch.linspace(0.01, 0.3, RUNS, dtype=torch.float64)
LR_B = LR.flip(0) / 2
DECAY = torch.linspace(0, 0.2, RUNS, dtype=torch.float64)
MOMENTUM = torch.linspace(0, 0.9, RUNS, dtype=torch.float64)
TOLERANCE = {torch.float32: 1e-6, torch.float64: 1e-12}


def schedule(step):
    return 1 / (1 + 0.1 * step)


def loss_of_one(parameters, data):
    x, y = data
    return (torch.tanh(x @ parameters["W"]) + parameters["b"] - y).square().mean()


def start(dtype, runs=range(RUNS)):
    random = RunRandom(list(runs))
    scale = torch.tensor([0.5 + run for run in runs], dtype=dtype)
    W = random.normal(3, 4, use="W", dtype=dtype) * scale[:, None, None]
    return {"W": W, "b": torch.zeros(len(W), 4, dtype=dtype)}


def data(dtype, runs, step):
    random = RunRandom(list(runs))
    x = random.normal(8, 3, use="x", step=step, dtype=dtype)
    return x, random.uniform(8, 4, use="y", step=step, dtype=dtype)


def ensemble(optimizer, dtype, runs=range(RUNS)):
    return Ensemble(
        start(dtype, runs),
        functools.partial(data, dtype, runs),
        optimizer,
        loss=torch.func.vmap(loss_of_one),
    )


def train_alone(run, make, dtype, clip=None):
    """One model, one torch optimizer, its own batches."""
    parameters = {name: t[0].clone().requires_grad_() for name, t in start(dtype, [run]).items()}
    optimizer = make(parameters, run)
    decline = torch.optim.lr_scheduler.LambdaLR(optimizer, schedule)
    losses = []
    for step in range(STEPS):
        loss = loss_of_one(parameters, [part[0] for part in data(dtype, [run], step)])
        optimizer.zero_grad()
        loss.backward()
        if clip is not None:
            torch.nn.utils.clip_grad_norm_(list(parameters.values()), clip)
        optimizer.step()
        decline.step()
        losses.append(loss.item())
    return parameters, losses


def groups(parameters, run):
    rates = {"W": float(LR[run]), "b": float(LR_B[run])}
    return [{"params": [tensor], "lr": rates[name]} for name, tensor in parameters.items()]


def sgd(parameters, run):
    settings = {"momentum": float(MOMENTUM[run]), "weight_decay": float(DECAY[run])}
    return torch.optim.SGD(groups(parameters, run), **settings)


def adam(parameters, run, decoupled=False):
    kind = torch.optim.AdamW if decoupled else torch.optim.Adam
    return kind(groups(parameters, run), betas=(0.8, 0.95), weight_decay=float(DECAY[run]))


RATES = {"lr": {"W": LR, "b": LR_B}, "weight_decay": DECAY, "schedule": schedule}
BETAS = {"beta1": 0.8, "beta2": 0.95}
adamw = functools.partial(adam, decoupled=True)
CASES = {
    "sgd": (Optimizer("sgd", momentum=MOMENTUM, **RATES), sgd, None),
    "adam": (Optimizer("adam", **BETAS, **RATES), adam, None),
    "adamw": (Optimizer("adamw", **BETAS, **RATES), adamw, None),
    "clipped": (Optimizer("sgd", momentum=MOMENTUM, clip=0.1, **RATES), sgd, 0.1),
    "mixed": (
        Optimizer(["adam", "sgd", "adamw"] * 2, momentum=MOMENTUM, **BETAS, **RATES),
        lambda parameters, run: (adam, sgd, adamw)[run % 3](parameters, run),
        None,
    ),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("case", CASES)
def test_each_run_equals_torch_optim_on_a_single_model(case, dtype):
    optimizer, make, clip = CASES[case]
    trained = train(ensemble(optimizer, dtype), STEPS)
    for run in range(RUNS):
        alone, losses = train_alone(run, make, dtype, clip)
        for name, tensor in alone.items():
            difference = (trained.parameters[name][run] - tensor).abs().max()
            assert difference <= TOLERANCE[dtype], (name, run)
        difference = trained.losses[:, run] - torch.tensor(losses, dtype=torch.float64)
        assert difference.abs().max() <= 10 * TOLERANCE[dtype], run


def test_weight_decay_and_rate_matter_so_that_the_comparison_can_fail():
    optimizer, _, _ = CASES["adamw"]
    without = Optimizer("adamw", lr=optimizer.lr, schedule=schedule, **BETAS)
    first = train(ensemble(optimizer, torch.float64), STEPS).parameters["W"]
    second = train(ensemble(without, torch.float64), STEPS).parameters["W"]
    assert ((first - second).abs().amax(dim=(1, 2))[1:] > 1e-4).all()


@pytest.mark.parametrize("chunk", [1, 4])
def test_a_run_is_the_same_whatever_else_is_in_its_ensemble(chunk, tmp_path):
    def build(part):
        runs = range(RUNS)[part]
        settings = {"lr": {"W": LR[part], "b": LR_B[part]}, "weight_decay": DECAY[part]}
        return ensemble(Optimizer("adamw", **settings), torch.float64, runs)

    options = {"observe_at": [0, 10, STEPS], "loss_every": 5}
    whole = train(build(slice(0, RUNS)), STEPS, **options)
    for path in (None, tmp_path / "training.safetensors"):
        execution = Execution(checkpoint=Checkpoint(path))
        parts = train_in_chunks(build, RUNS, chunk, STEPS, execution=execution, **options)
        assert parts.observed["W"].shape == (3, RUNS, 3, 4)
        for name in ("W", "b"):
            assert (parts.observed[name] - whole.observed[name]).abs().max() <= 1e-12
        assert (parts.losses - whole.losses).abs().max() <= 1e-12


def test_gradients_by_hand_equal_autograd():
    def by_hand(parameters, batch):
        x, y = batch
        hidden = torch.tanh(x @ parameters["W"])
        error = hidden + parameters["b"][:, None] - y
        slope = 2 * error / error[0].numel()
        W = x.mT @ (slope * (1 - hidden.square()))
        return error.square().mean(dim=(1, 2)), {"W": W, "b": slope.sum(1)}

    optimizer, _, _ = CASES["adam"]
    automatic = ensemble(optimizer, torch.float64)
    manual = Ensemble(automatic.parameters, automatic.batch, optimizer, gradients=by_hand)
    first, second = train(automatic, STEPS), train(manual, STEPS)
    for name in ("W", "b"):
        assert (first.parameters[name] - second.parameters[name]).abs().max() <= 1e-12
