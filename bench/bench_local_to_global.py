"""Times basin maps, the ensemble of tiny models, and the transformers of Local to Global."""

from collections.abc import Iterator

import numpy as np
import torch
from scipy.integrate import solve_ivp
from torch import Tensor
from torch.nn import functional

from bench.case import Case, Numbers, Way, Work
from onelayer.compute.ensemble import Ensemble, Optimizer, RunRandom, train
from onelayer.papers.local_to_global import canonical, initialisation
from onelayer.papers.local_to_global.chain import Chain
from onelayer.papers.local_to_global.integrator import integrate
from onelayer.papers.local_to_global.theory import grid
from onelayer.papers.local_to_global.training import (
    BETAS,
    STARTS,
    one_cycle,
    sequences,
    train_group,
)
from onelayer.settings.local_to_global import ChainSettings, EnsembleSettings, Variant
from onelayer.settings.root import default_settings

LTG = default_settings().local_to_global
CHAIN = Chain(0.9, 0.9)
TOLERANCE, AT_REST = 1e-8, 1e-7


def cases(small: bool = False) -> Iterator[Case]:
    """A basin map, gradient descent of (e, w), and transformers from three initialisations."""
    yield _basin_map(points=4 if small else 60, followed=3 if small else 40)
    yield _population_gradient(runs=5 if small else 1000, steps=10 if small else 500)
    yield _transformers(*((2, 16, 2, 3) if small else (5, 256, 16, 8)))


def _basin_map(points: int, followed: int) -> Case:
    start = grid(3.0, points)
    ends = integrate(_field, torch.tensor(start), tolerance=TOLERANCE, stop_below=AT_REST)
    until = float(ends.time.max())
    chosen = np.random.default_rng(0).choice(start.shape[1], followed, replace=False)

    def simple() -> Numbers:
        """All starts as one state, to the time at which the last of ours is at rest."""

        def rate(_: float, theta: np.ndarray) -> np.ndarray:
            return _field(theta.reshape(2, -1)).ravel()

        found = solve_ivp(rate, (0, until), start.ravel(), rtol=TOLERANCE, atol=1e-14)
        return {"theta": found.y[:, -1].reshape(2, -1)}

    def one_at_a_time() -> Numbers:
        """Each start to the time at which ours is at rest."""
        found = [
            solve_ivp(
                lambda _, theta: _field(theta),
                (0, float(ends.time[place])),
                start[:, place],
                rtol=TOLERANCE,
                atol=1e-14,
            )
            for place in chosen
        ]
        return {"theta": np.stack([one.y[:, -1] for one in found], axis=1)}

    def ours() -> Numbers:
        found = integrate(_field, torch.tensor(start), tolerance=TOLERANCE, stop_below=AT_REST)
        return {"theta": found.theta.numpy()}

    tried = int(ends.steps.sum())
    return Case(
        name=f"local to global, basin map of {points} x {points} starts",
        steps=("simulate_flow", "simulate_attention_flow"),
        ours=Way("ours", ours),
        simple=Way("SciPy's solve_ivp, all starts as one state", simple, tolerance=1e-5),
        authors=Way(
            "SciPy's solve_ivp, one start at a time",
            one_at_a_time,
            of=lambda ours: {"theta": ours["theta"][:, chosen]},
            share=float(ends.steps[chosen].sum()) / tried,
            tolerance=1e-5,
        ),
        count_work=lambda: Work(
            flops=tried * (6 * 30 + 2 * 2 * 27),
            bytes=0,
            rate="torch float64",
            formula=f"{tried:,} steps tried; six rates of 30 flops, exp and square root counted as "
            "one, and 27 products for either variable: no code does these as fast as a matrix "
            "product",
        ),
    )


def _field(theta: np.ndarray | Tensor) -> np.ndarray | Tensor:
    return canonical.flow(theta, CHAIN)


def _population_gradient(runs: int, steps: int, rate: float = 0.01) -> Case:
    """What the ensemble adds to models of two numbers; no step of the project trains these."""
    start = np.random.default_rng(0).normal(size=(runs, 2))
    alone = min(runs, 5)

    def gradients(parameters: dict, _: None) -> tuple[Tensor, dict]:
        e, w = parameters["theta"].unbind(dim=1)
        loss = canonical.loss(canonical.logit_gap(e, w), CHAIN)
        return loss, {"theta": -_field(torch.stack([e, w])).mT}

    def ours() -> Numbers:
        optimizer = Optimizer("sgd", lr=rate)
        parameters = {"theta": torch.tensor(start)}
        ensemble = Ensemble(parameters, lambda step: None, optimizer, gradients=gradients)
        trained = train(ensemble, steps)
        return {"theta": trained.parameters["theta"], "last losses": trained.losses[-1]}

    def simple() -> Numbers:
        theta = start.T.copy()
        for _ in range(steps):
            losses = canonical.loss(canonical.logit_gap(*theta), CHAIN)
            theta += rate * _field(theta)
        return {"theta": theta.T, "last losses": losses}

    def one_at_a_time() -> Numbers:
        found = []
        for e, w in start[:alone]:
            theta = torch.tensor([e, w], requires_grad=True)
            optimizer = torch.optim.SGD([theta], rate)
            for _ in range(steps):
                optimizer.zero_grad()
                canonical.loss(canonical.logit_gap(*theta), CHAIN).backward()
                optimizer.step()
            found.append(theta.detach().numpy())
        return {"theta": found}

    return Case(
        name=f"local to global, population gradient, {runs:,} models x {steps} updates",
        steps=(),
        ours=Way("onelayer.compute.ensemble", ours),
        simple=Way("numpy, all models as one array", simple, tolerance=1e-8),
        authors=Way(
            "torch, one model at a time in one process",
            one_at_a_time,
            of=lambda ours: {"theta": ours["theta"][:alone]},
            share=alone / runs,
            tolerance=1e-8,
        ),
        count_work=lambda: Work(
            flops=runs * steps * 50,
            bytes=0,
            rate="torch float64",
            formula="50 flops a model and update, exp, log and square root counted as one: no code "
            "does these as fast as a matrix product",
        ),
    )


def _transformers(seeds: int, T: int, batch: int, iterations: int) -> Case:
    training = LTG.transformer.training.but(sequence_length=T, batch=batch, iterations=iterations)
    group = [Variant(name=start, initialisation=start) for start in STARTS]
    settings = EnsembleSettings.of_fields(
        LTG.transformer,
        chain=ChainSettings(p=CHAIN.p, q=CHAIN.q),
        training=training,
        seeds=seeds,
        evaluate_every=iterations,
        evaluate_on=4,
        device="cpu",
    )
    runs = seeds * len(group)
    return Case(
        name=f"local to global, {runs} transformers x {iterations} iterations",
        steps=("train_transformers", "ablate_transformers", "train_trapped", "follow_circuits"),
        ours=Way("ours", lambda: {"losses": train_group(group, settings).losses}),
        # torch.func.vmap over a model of one run took 1.07 times as long as one after the other.
        simple=Way(
            "one model at a time: fused attention, fused AdamW",
            lambda: {"losses": _alone(settings)},
            of=lambda ours: {"losses": ours["losses"][:, 0]},
            share=1 / runs,
            tolerance=1e-4,
        ),
        authors="one model at a time, too",
        count_work=lambda: Work(
            # The mask of a causal transformer hides half of all pairs.
            flops=runs * iterations * batch * (72 * training.d**2 * T + 6 * T**2 * training.d),
            bytes=0,
            rate="torch float32",
            formula="72 d^2 T + 6 T^2 d flops a sequence (products, and causal attention), d = 8: "
            "an exp for every 48 of them is not counted",
        ),
    )


def _loss(parameters: dict[str, Tensor], x: Tensor) -> Tensor:
    """Mean cross-entropy of one model on sequences x, bool [B, T + 1], as the paper has it."""
    e, inputs = parameters["e"], x[:, :-1, None].float()
    z = inputs * e + parameters["wpe"]
    q, k, v = (z @ parameters[name].T for name in ("W_Q", "W_K", "W_V"))
    mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    z = z + mixed @ parameters["W_O"].T
    z = z + functional.relu(z @ parameters["W_1"].T) @ parameters["W_2"].T
    logits = z @ e + parameters["b"]
    return functional.binary_cross_entropy_with_logits(logits, x[:, 1:].float())


def _alone(settings: EnsembleSettings) -> list[float]:
    """Losses of the standard run of seed 0."""
    own, random = settings.training, RunRandom([0])
    start = initialisation.standard(random, own.sequence_length, own.d)
    parameters = {name: value[0].requires_grad_() for name, value in start.items()}
    optimizer = torch.optim.AdamW(
        parameters.values(), own.lr, betas=BETAS, weight_decay=own.weight_decay, fused=True
    )
    factor, losses = one_cycle(own.iterations, own.warm_up), []
    for step in range(own.iterations):
        u = random.uniform(own.batch, own.sequence_length + 1, use="sequences", step=step)
        loss = _loss(parameters, sequences(u, CHAIN)[0])
        optimizer.zero_grad()
        loss.backward()
        optimizer.param_groups[0]["lr"] = own.lr * factor(step)
        optimizer.step()
        losses.append(loss.item())
    return losses
