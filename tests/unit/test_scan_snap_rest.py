"""Coming to rest beside decoders that are slower or frozen."""

import math

import numpy as np
import pandas as pd
import pytest

from onelayer.evidence.findings import ALL
from onelayer.papers.scan_snap import model
from onelayer.papers.scan_snap.data import Task
from onelayer.papers.scan_snap.measures import ATTENTION
from onelayer.papers.scan_snap.rest import rest, slowing_by_seed
from onelayer.papers.scan_snap.simulation import _ensemble, simulate
from onelayer.settings.root import default_settings

DEFAULT = default_settings().scan_snap
BLOCK = DEFAULT.rest.but(seeds=3, longer=2, iterations=40)


@pytest.fixture(scope="module")
def runs():
    return simulate(BLOCK.model_copy(update={"lr_Y_multiplier": [0.0, 1.0]}))


def plain(run, iterations):
    """The measures of one run, iteration by iteration."""
    run = run[run["sequence_class"] == 0].set_index("iteration")[ATTENTION]

    def entropy(t):
        c = run.loc[t].tolist()[10:]
        return -sum(one / sum(c) * math.log(one / sum(c)) for one in c)

    def slowing(value):
        early = sum(abs(value(t + 1) - value(t)) for t in range(8, 13)) / 5
        late = sum(abs(value(t + 1) - value(t)) for t in range(iterations - 5, iterations)) / 5
        return math.log10(early / late)

    def way(a, b):
        return sum(abs(x - y) for x, y in zip(run.loc[a], run.loc[b], strict=True))

    after = way(iterations, run.index.max()) / way(0, iterations)
    gain = run.loc[iterations, ATTENTION[-1]] / run.loc[0, ATTENTION[-1]]
    return [slowing(lambda t: run.loc[t, ATTENTION[-1]]), slowing(entropy), after, gain]


def test_slowing_down_equals_slow_loops(runs):
    for _, part in runs.groupby("lr_Y_multiplier"):
        found = slowing_by_seed(part.sample(frac=1, random_state=1), 40)
        for seed, run in part.groupby("seed"):
            assert found.loc[seed].tolist() == pytest.approx(plain(run, 40))


def test_a_frozen_decoder_stays_at_its_start_and_attention_moves(runs):
    keys = pd.DataFrame({"seed": [0], "lr_Z": [1.0], "lr_Y_multiplier": [0.0]})
    task = Task(2, 1, BLOCK.length, BLOCK.batch)
    ensemble = _ensemble(BLOCK, task, keys, "cpu", with_positions=False)
    assert (ensemble.optimizer.lr["Y"] == 0).all() and (ensemble.optimizer.lr["Z"] == 1).all()
    start = model.initial_parameters(task, [0, 0], "uniform", ensemble.parameters["Y"].dtype, "cpu")
    assert start["Y"].abs().max() > 0
    frozen = runs[(runs["lr_Y_multiplier"] == 0) & (runs["sequence_class"] == 0)]
    assert frozen.groupby("seed")[ATTENTION[-1]].std().min() > 0


def test_runs_that_diverged_or_stood_still_say_nothing(runs):
    own = runs[runs["lr_Y_multiplier"] == 1].copy()
    own.loc[own["seed"] == 1, "diverged_at"] = 5
    still = own["seed"] == 2
    own.loc[still, ATTENTION] = 0.05
    found = slowing_by_seed(own, 40)
    assert found.loc[0].notna().all() and found.loc[[1, 2]].isna().all(axis=None)
    assert slowing_by_seed(own.assign(diverged_at=5), 40).isna().all(axis=None)


def test_controls_are_judged_on_the_side_that_was_predicted_and_paired_by_seed(runs):
    table = rest(runs, 40)
    judged = table[table["quantity"] != "gain_of_top_token"]  # that one describes
    assert set(judged["kind"]) == {"analogue"} and set(table["seed"]) == {ALL}
    by = table.set_index(["quantity", "lr_Y_multiplier"])["value"]
    of = {rate: slowing_by_seed(part, 40) for rate, part in runs.groupby("lr_Y_multiplier")}
    difference = (of[1.0] - of[0.0])["slowing_down"].mean()
    assert by["slowing_down_over_control", 0.0] == pytest.approx(difference)
    assert ("slowing_down_over_control", 1.0) not in by.index
    # A control that slows down a hundredfold speaks against the prediction, one that does not for.
    calm = runs[runs["lr_Y_multiplier"] == 1]
    both = rest(pd.concat([calm, calm.assign(lr_Y_multiplier=0.0)]), 40)
    ways = both[both["quantity"] == "slowing_down"].set_index("lr_Y_multiplier")
    assert ways.loc[0.0, "low"] > np.log10(2), "the fixture must slow down"
    assert ways.loc[0.0, "verdict"] == "opposite" and ways.loc[1.0, "verdict"] == "reproduced"


@pytest.mark.parametrize(
    ("block", "update", "said"),
    [
        ("scan", {"lr_Y_multiplier": [0.0]}, "only rest freezes Y"),
        ("rest", {"initial": "zero"}, "must be uniform"),
        ("rest", {"lr_Y_multiplier": [1.0]}, "two or more"),
        ("rest", {"longer": 1}, "at least 2"),
    ],
)
def test_settings_that_have_no_control_are_refused(block, update, said):
    with pytest.raises(ValueError, match=said):
        DEFAULT.but(**{block: getattr(DEFAULT, block).but(**update)})
