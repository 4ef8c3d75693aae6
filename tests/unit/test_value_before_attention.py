"""Values and attention of the four papers' models, beside trainings by hand."""

import math

import numpy as np
import pandas as pd
import pytest
import torch
import yaml

from onelayer.compute.circuits import Model, follow, times
from onelayer.papers.decision_lists import circuits as decision_lists
from onelayer.papers.local_to_global import circuits as local_to_global
from onelayer.papers.scan_snap import circuits as scan_snap
from onelayer.papers.topic_structure.synthetic import circuits as topic_structure
from onelayer.report.value_before_attention import (
    BEGUN,
    DONE,
    MOVING,
    of_run,
    reached,
    value_before_attention,
)
from onelayer.settings.circuits import CircuitSettings
from tests.conftest import ROOT

SETTINGS = CircuitSettings(
    **yaml.safe_load((ROOT / "config.yaml").read_text("utf-8"))["value_before_attention"]
)
MODELS = {
    "topic_structure": lambda: topic_structure.model(
        SETTINGS.topic_structure.model_copy(update={"documents": 60})
    ),
    "scan_snap": lambda: scan_snap.model(SETTINGS.scan_snap.model_copy(update={"batch": 16})),
    "decision_lists": lambda: decision_lists.model(SETTINGS.decision_lists),
    "local_to_global": lambda: local_to_global.model(
        SETTINGS.local_to_global.model_copy(update={"batch": 4})
    ),
}


def by_hand(model: Model, seed: int, rate: float, scale: float, ratio: float, steps: int) -> list:
    """Plain gradient descent of one run: value and attention distances after every step."""
    now = {name: tensor.double() for name, tensor in model.start([seed]).items()}
    now = {n: scale * t if n in model.scaled else t for n, t in now.items()}
    kind = {name: tensor.dtype for name, tensor in model.start([seed]).items()}
    first, batch, distances = model.circuits(now), model.batch([seed]), []
    for step in range(steps + 1):
        moved = zip(model.circuits(now), first, strict=True)
        distances.append([float((one - start).square().sum().sqrt()) for one, start in moved])
        given = {name: tensor.to(kind[name]) for name, tensor in now.items()}
        if "gradients" in model.objective:
            _, slopes = model.objective["gradients"](given, batch(step))
        else:
            given = {name: tensor.requires_grad_() for name, tensor in given.items()}
            loss = model.objective["loss"](given, batch(step)).sum()
            slopes = dict(zip(given, torch.autograd.grad(loss, list(given.values())), strict=True))
        for name in now:
            now[name] = now[name] - rate * (ratio if name in model.attention else 1) * slopes[name]
    return distances


@pytest.mark.parametrize("paper", MODELS)
def test_every_run_is_trained_as_one_alone_would_be(paper):
    model = MODELS[paper]()
    found = follow(model, {"sgd": 0.5}, [1, 2], [0.1, 1], seeds=2, steps=6, observed=50)
    assert found["step"].unique().tolist() == [0, 1, 2, 3, 4, 5, 6]
    for (seed, scale, ratio), run in found.groupby(["seed", "scale", "ratio"]):
        expected = np.array(by_hand(MODELS[paper](), seed, 0.5, scale, ratio, 6))
        assert run["value"].to_numpy() == pytest.approx(expected[:, 0], rel=2e-3, abs=1e-6)
        assert run["attention"].to_numpy() == pytest.approx(expected[:, 1], rel=2e-3, abs=1e-6)
    assert len(found) == 2 * 2 * 2 * 7 and (found.groupby("seed")["value"].last() > 0).all()


def test_times_are_dense_at_the_beginning_and_hold_both_ends():
    found = times(1000, 40)
    assert found[:5] == [0, 1, 2, 3, 4] and found[-1] == 1000
    assert len(found) <= 41 and (np.diff(np.log(found[10:])) < 0.3).all()


def history(value, attention, loss=(2.0, 1.0)) -> pd.DataFrame:
    step = np.arange(101.0)
    return pd.DataFrame(
        {"step": step, "value": value(step), "attention": attention(step),
         "loss": np.linspace(*loss, 101)}
    )  # fmt: skip


def test_the_statistic_equals_slow_steps():
    """On a fine grid, by looking at one time after the other."""
    run = history(lambda t: 1 - np.exp(-t / 5), lambda t: (t / 100) ** 3)
    fine = np.linspace(0, 100, 200_001)
    of = {n: np.interp(fine, run["step"], run[n]) for n in ("value", "attention")}

    def first(name: str, share: float) -> float:
        return next(t for t, d in zip(fine, of[name], strict=True) if d >= share * of[name][-1])

    found = of_run(run)
    assert found[DONE] == pytest.approx(
        math.log2(first("attention", 0.1) / first("value", 0.9)), abs=1e-3
    )
    assert found[BEGUN] == pytest.approx(
        math.log2(first("attention", 0.1) / first("value", 0.1)), abs=5e-3
    )
    assert found[DONE] > 0 and found[MOVING] == pytest.approx(0, abs=1e-6)
    together = of_run(history(lambda t: t, lambda t: 3 * t))
    assert together[DONE] == pytest.approx(math.log2(1 / 9)) and together[BEGUN] == 0
    assert together[MOVING] == pytest.approx(0.1)


def test_what_did_not_move_or_did_not_learn_has_no_time():
    assert math.isnan(reached(np.arange(3.0), np.zeros(3), 0.1))
    assert math.isnan(reached(np.arange(3.0), np.array([0, 1, np.nan]), 0.1))
    still = of_run(history(lambda t: t, lambda t: t, loss=(2.0, 1.95)))
    assert all(math.isnan(value) for value in still.values())
    runs = [
        history(lambda t: t, lambda t: t, loss=loss).assign(
            paper="scan_snap", optimizer=kind, scale=1.0, ratio=1.0, seed=seed
        )
        for kind, loss in (("sgd", (2, 1)), ("adam", (2, 2)))
        for seed in (0, 1)
    ]
    table = value_before_attention(pd.concat(runs)).set_index(["optimizer", "quantity"])
    assert table.loc[("sgd", DONE), "verdict"] == "opposite"
    assert table.loc[("adam", DONE), "verdict"] == "not reached"
