"""Values and attention of the four papers' models, beside trainings by hand."""

import math

import numpy as np
import pandas as pd
import pytest
import torch

from onelayer.compute.circuits import Model, follow, times
from onelayer.papers.decision_lists import circuits as decision_lists
from onelayer.papers.local_to_global import circuits as local_to_global
from onelayer.papers.scan_snap import circuits as scan_snap
from onelayer.papers.topic_structure.synthetic import circuits as topic_structure
from onelayer.report.value_before_attention import (
    BACK,
    BEGUN,
    DONE,
    HALF,
    MOVING,
    of_run,
    reached,
    settled,
    value_before_attention,
)
from onelayer.settings.circuits import FollowedSettings
from onelayer.settings.root import default_settings

SETTINGS = default_settings().value_before_attention
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
    how = FollowedSettings(rates={"sgd": 0.5}, steps=20).model_copy(update={"steps": 6})
    combined = {"scales": [1, 2], "ratios": [0.1, 1], "seeds": 2, "observed": 50}
    found = follow(model, how, SETTINGS.model_copy(update=combined))
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


def slowly(run: pd.DataFrame, until: float = 100) -> dict[str, float]:
    """The statistic on a fine grid, by looking at one time after the other."""
    fine = np.linspace(0, until, 200_001)
    value, attention = (np.interp(fine, run["step"], run[n]) for n in ("value", "attention"))

    def first(distance: np.ndarray) -> float:
        level = 0.1 * max(distance)
        return next(t for t, d in zip(fine, distance, strict=True) if d >= level)

    done, within = fine[-1], 0.1 * max(value)
    for t, d in zip(fine[::-1], value[::-1], strict=True):
        if abs(d - value[-1]) > within:
            break
        done = t
    begins = first(attention)
    return {"done": math.log2(begins / done), "begun": math.log2(begins / first(value))}


RISES = (lambda t: 1 - np.exp(-t / 5), lambda t: (t / 100) ** 3)
COMES_BACK = (lambda t: t * np.exp(-t / 9) + 1e-3 * t, lambda t: 1 - np.exp(-t / 30))
PASSES_ITS_END = (lambda t: np.where(t < 50, t, 41.0) - 3 * (t == 51), lambda t: t)


@pytest.mark.parametrize("moves", [RISES, COMES_BACK, PASSES_ITS_END])
def test_the_statistic_equals_slow_steps(moves):
    run = history(*moves)
    found, expected, at_half = of_run(run), slowly(run), slowly(run[run["step"] <= 50], 50)
    assert found[DONE] == pytest.approx(expected["done"], abs=2e-3)
    assert found[BEGUN] == pytest.approx(expected["begun"], abs=5e-3)
    assert found[HALF] == pytest.approx(at_half["done"], abs=2e-3)


def test_values_that_only_move_away_are_done_at_nine_tenths():
    found = of_run(history(*RISES))
    assert found[DONE] > 0 and found[MOVING["value"]] == pytest.approx(0, abs=1e-6)
    assert found[MOVING["attention"]] == pytest.approx(1 - 0.9**3) and found[BACK] == 0
    together = of_run(history(lambda t: t, lambda t: 3 * t))
    assert together[DONE] == pytest.approx(math.log2(1 / 9)) and together[BEGUN] == 0
    assert together[HALF] == together[DONE]
    assert together[MOVING["value"]] == pytest.approx(0.1)


def test_values_that_come_back_are_not_done_on_their_way_out():
    found = of_run(history(lambda t: np.exp(-(((t - 30) / 8) ** 2)) * (t > 0), lambda t: t))
    assert found[DONE] < 0 and found[BACK] == pytest.approx(1)


def test_what_did_not_move_or_did_not_learn_has_no_time():
    for time_of in (reached, settled):
        assert math.isnan(time_of(np.arange(3.0), np.zeros(3)))
        assert math.isnan(time_of(np.arange(3.0), np.array([0, 1, np.nan])))
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
