"""Times basin maps against SciPy's solver, and stacked models against a process for each."""

import json
import subprocess
import sys
from time import perf_counter
from typing import Any

import numpy as np
import torch
from scipy.integrate import solve_ivp

from onelayer.ensemble import Ensemble, Optimizer, Trained, train
from onelayer.papers.local_to_global import canonical
from onelayer.papers.local_to_global.chain import Chain
from onelayer.papers.local_to_global.integrator import integrate
from onelayer.papers.local_to_global.theory import grid

CHAIN = Chain(0.9, 0.9)
POINTS, EXTENT = 200, 3.0
SAMPLE = 40  # trajectories that SciPy follows, for all
RUNS, STEPS, RATE = 1000, 1000, 0.01
PROCESSES = 3  # started, for all


def rows() -> list[dict[str, Any]]:
    """Measurements: a basin map, and gradient descent on the population loss."""
    return [_basin_map(), _population_gradient()]


def _basin_map() -> dict[str, Any]:
    start = grid(EXTENT, POINTS)
    before = perf_counter()
    ends = integrate(lambda x: canonical.flow(x, CHAIN), torch.tensor(start), stop_below=1e-7)
    ours = perf_counter() - before
    chosen = np.random.default_rng(0).choice(start.shape[1], SAMPLE, replace=False)
    before = perf_counter()
    for index in chosen:
        time = (0, float(ends.time[index]))
        solve_ivp(
            lambda _, y: canonical.flow(y, CHAIN), time, start[:, index], rtol=1e-8, atol=1e-14
        )
    loop = (perf_counter() - before) * start.shape[1] / SAMPLE
    return {
        "name": f"local to global, basin map of {POINTS} x {POINTS} starts",
        "ours_seconds": ours,
        "baseline_seconds": loop,
        "ratio": loop / ours,
        "note": f"SciPy's solve_ivp, same method, times and tolerance, from {SAMPLE} of the starts",
    }


def _rate(_: float, theta: np.ndarray) -> np.ndarray:
    return canonical.flow(theta, CHAIN)


def descend(start: np.ndarray) -> Trained:
    """Gradient descent on the population loss of the canonical model from (e, w), [runs, 2]."""

    def gradients(parameters: dict, _: None) -> tuple[torch.Tensor, dict]:
        e, w = parameters["theta"].unbind(dim=1)
        loss = canonical.loss(canonical.logit_gap(e, w), CHAIN)
        return loss, {"theta": -canonical.flow(torch.stack([e, w]), CHAIN).mT}

    ensemble = Ensemble(
        {"theta": torch.tensor(start)},
        lambda step: None,
        Optimizer("sgd", lr=RATE),
        gradients=gradients,
    )
    return train(ensemble, STEPS)


def _population_gradient() -> dict[str, Any]:
    start = np.random.default_rng(0).normal(size=(RUNS, 2))
    before = perf_counter()
    stacked = descend(start)
    ours = perf_counter() - before
    alone = []
    for run in range(PROCESSES):
        command = [sys.executable, "-m", __name__, json.dumps(start[run].tolist())]
        before = perf_counter()
        printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        whole = perf_counter() - before
        theta, training = json.loads(printed)
        np.testing.assert_allclose(theta, stacked.parameters["theta"][run], rtol=1e-9)
        alone.append((whole, training))
    whole, training = (RUNS * float(seconds) for seconds in np.median(alone, axis=0))
    return {
        "name": f"local to global, population gradient, {RUNS:,} models, {STEPS:,} steps",
        "ours_seconds": ours,
        "baseline_seconds": whole,
        "ratio": whole / ours,
        "note": f"a process per model, from {PROCESSES} of them; {training / ours:,.0f}x without "
        "their start",
    }


def _one_model() -> None:
    """What each process of the baseline does: train one model, print it and the seconds."""
    torch.set_num_threads(1)
    start = np.array([json.loads(sys.argv[1])])
    before = perf_counter()
    trained = descend(start)
    seconds = perf_counter() - before
    print(json.dumps([trained.parameters["theta"][0].tolist(), seconds]))


if __name__ == "__main__":
    _one_model()
