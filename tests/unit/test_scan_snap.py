"""Scan and Snap reaches the specification's numbers, refuses what makes no sense, and resumes."""

import dataclasses
import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import pydantic
import pytest
import torch
import yaml

from onelayer.ensemble import RunRandom
from onelayer.ensemble.execution import Checkpoint, Execution
from onelayer.errors import OnelayerError
from onelayer.scan_snap import language_model, measures
from onelayer.scan_snap.data import TOKEN_CHANCES
from onelayer.scan_snap.language_model import Text, encode
from onelayer.scan_snap.measures import ATTENTION, SETTINGS
from onelayer.scan_snap.simulation import simulate, simulate_slower
from onelayer.settings.scan_snap import ScanSnapSettings

ROOT = Path(__file__).parents[2]
CONFIG = yaml.safe_load((ROOT / "config.yaml").read_text())["scan_snap"]
DEFAULT = ScanSnapSettings(**CONFIG)
PUBLISHED = pd.read_csv(ROOT / "workflow/reference/scan_snap_figure6.csv")
SCAN = DEFAULT.scan.model_copy(update={"seeds": 8, "longer": 2})
SWEEP = DEFAULT.entropy_sweep.model_copy(
    update={"num_last": [3], "lr_Z": [0.5, 3.0], "lr_Y_multiplier": [1.0, 10.0], "seeds": 3}
)


@pytest.fixture(scope="module")
def scan():
    return simulate(SCAN)


@pytest.fixture(scope="module")
def sweep():
    return simulate(SWEEP)


def test_the_scan_has_the_numbers_of_the_specification(scan):
    """Tolerances: three standard errors of eight seeds, about."""
    times, c = measures.trajectories(scan)
    assert times.tolist() == SCAN.observed and c.shape == (103, 8, 20)
    assert np.allclose(c[0], TOKEN_CHANCES)
    common = c[..., :10].sum(axis=2).mean(axis=1)
    for iteration, expected in ((0, 0.645), (10, 0.570), (20, 0.454), (40, 0.395), (98, 0.387)):
        assert abs(common[iteration] - expected) < 0.03, iteration
    assert abs(measures.distinct_entropy(c[0]).mean() - 2.151) < 5e-4
    assert abs(measures.distinct_entropy(c[98]).mean() - 1.935) < 0.06
    distinct = c[98, :, 10:]
    assert abs((distinct.max(axis=1) / distinct.sum(axis=1)).mean() - 0.295) < 0.02
    found = measures.scan_measures(scan, 100).mean()
    assert abs(found["gain_of_most_frequent"] - 2.81) < 0.3
    assert abs(found["gain_of_rarest"] - 0.88) < 0.04
    assert found["gain_spearman"] >= 0.99
    assert abs(found["largest_attention"] - 0.18) < 0.03  # not winner-take-all
    speed = np.abs(np.diff(c[:101, :, 19], axis=0)).mean(axis=1)
    assert abs(np.log10(speed[8:13].mean() / speed[95:].mean()) - np.log10(800)) < 0.6
    assert found["slowing_down"] > 1 and found["way_after"] < 0.1
    assert found["drop_spearman"] > 0.8


def test_tokens_drop_in_order_of_their_times():
    """Every token falls from its peak at a time of its own; those that never do come last."""
    c = np.ones((50, 2, 20))
    for place, slot in enumerate(range(10, 16)):
        c[5 * place + 4 :, 0, slot] = 0.5
        c[30 - 5 * place :, 1, slot] = 0.5
    times = measures.drop_times(c)
    assert times[0, 10:].tolist() == [4, 9, 14, 19, 24, 29, 50, 50, 50, 50]
    rising, falling = measures.order_by_frequency(times)
    assert rising > 0.95 and falling < rising
    assert np.isnan(measures.order_by_frequency(np.ones((1, 20))))


def test_a_late_transition_is_no_faster_rest():
    """Two runs with the same course, one twenty iterations later, slow down equally."""
    time = np.arange(101)[:, None] - np.array([12, 32])
    c = np.zeros((101, 2, 20))
    c[:, :, 19] = 1 / (1 + np.exp(-time / 4))
    early, late = measures.slowing_down(c[..., 19], measures.fastest_windows(c), 50)
    assert early == pytest.approx(late, rel=1e-3) and early > 2
    assert np.isnan(measures.slowing_down(c[..., 19], np.array([60.0, np.nan]), 50)).all()


def test_runs_that_diverged_or_stood_still_say_nothing(scan):
    lost = scan.copy()
    lost.loc[lost["seed"] == 1, "diverged_at"] = 5
    lost.loc[lost["seed"] == 2, ATTENTION] = 0.05
    found = measures.scan_measures(lost, 100)
    assert found.loc[[1, 2]].isna().all(axis=None) and found.loc[[0, 3]].notna().all(axis=None)
    nothing = measures.over_runs(
        measures.scan_measures(scan.assign(diverged_at=5), 100)["way_after"]
    )
    assert nothing["state"] == "not reached"


def test_time_reversed_common_tokens_gain_and_distinct_ones_lose(scan):
    scan = scan[scan["iteration"] <= 100]
    found = measures.scan_measures(scan.assign(iteration=100 - scan["iteration"]), 100)
    assert (found["common_mass_change"] > 0).all() and (found["gain_spearman"] < 0).all()
    assert found["slowing_down"].isna().all()  # the transition is too near the end


def test_a_frozen_decoder_lets_attention_move():
    frozen = {"lr_Y_multiplier": [0.0], "seeds": 2, "longer": 1, "iterations": 20}
    runs = simulate(DEFAULT.rest.model_copy(update=frozen))
    moved = measures.scan_measures(runs, 20)
    assert (abs(moved["gain_of_most_frequent"] - 1) > 0.01).all()


def test_published_cells_are_reached_on_a_few_settings(sweep):
    cells = measures.entropy_cells(measures.entropy_by_run(sweep, 100), PUBLISHED)
    assert len(cells) == 64 and cells["value"].notna().sum() == 4
    ran = cells.dropna(subset=["value"])
    assert (ran["value"] - ran["published"]).abs().max() < 0.06


def test_attention_that_stands_still_reaches_no_cell(sweep):
    still = sweep.copy()
    still[ATTENTION] = np.tile(TOKEN_CHANCES, (len(still), 1))
    cells = measures.entropy_cells(measures.entropy_by_run(still, 100), PUBLISHED).dropna(
        subset=["n"]
    )
    assert (cells["state"] == "not reached").all()


def test_the_reference_has_all_published_cells():
    assert len(PUBLISHED) == 64 and not PUBLISHED.duplicated(SETTINGS).any()
    assert PUBLISHED["published"].between(1.5, 2.1).all()


def test_trends_of_the_published_cells_are_as_published():
    """Their mean is the figure's, and at ten query tokens a larger lr_Y/lr_Z lowers entropy."""
    runs = pd.concat(
        [PUBLISHED.assign(seed=seed, entropy=PUBLISHED["published"]) for seed in (0, 1)]
    )
    for along, mean, least in (
        ("lr_Y_multiplier", 0.067375, -0.0255),
        ("lr_Z", -0.2404375, -0.16625),
    ):
        rows = pd.DataFrame(measures.entropy_trend(runs, PUBLISHED, along)).set_index("quantity")
        assert len(rows.loc[f"{along}_difference"]) == 4
        of_mean = rows.loc[f"{along}_difference_mean"]
        assert of_mean["value"] == pytest.approx(mean) == pytest.approx(of_mean["published"])
        assert rows.loc[f"{along}_difference_least", "value"] == pytest.approx(least)
        effect = rows.loc[f"{along}_effect"]
        assert effect["value"] == pytest.approx(1) and effect["published"] == 1


def test_trends_are_paired_by_seed_beside_the_published_cells_that_ran(sweep):
    runs = measures.entropy_by_run(sweep, 100)
    row, *_, effect = measures.entropy_trend(runs, PUBLISHED, "lr_Z")
    means = runs.groupby("lr_Z")["entropy"].mean()
    assert row["value"] == pytest.approx(means[3.0] - means[0.5]) and row["n"] == 3
    at = PUBLISHED[PUBLISHED["num_last"] == 3].set_index(["lr_Z", "lr_Y_multiplier"])["published"]
    expected = (at[3, 1] - at[0.5, 1] + at[3, 10] - at[0.5, 10]) / 2
    assert row["published"] == pytest.approx(expected)
    ends = [row[end] / expected for end in ("high", "low")]  # both are negative
    assert [effect["low"], effect["high"]] == pytest.approx(ends)
    assert not measures.entropy_trend(runs[runs["lr_Z"] == 3.0], PUBLISHED, "lr_Z")
    runs.loc[0, "entropy"] = np.nan  # a seed with a diverged run is left out
    assert measures.entropy_trend(runs, PUBLISHED, "lr_Z")[0]["n"] == 2


def test_a_run_is_the_same_whatever_is_swept_beside_it(sweep):
    alone = SWEEP.model_copy(update={"lr_Z": [3.0], "lr_Y_multiplier": [10.0]})
    keys = [*SETTINGS, "seed", "sequence_class"]
    apart = simulate(alone).set_index(keys)[ATTENTION]
    together = sweep.set_index(keys)[ATTENTION]
    assert np.abs(together.loc[apart.index] - apart).to_numpy().max() < 1e-4
    assert np.abs(apart.loc[3, 3.0, 10.0, 0] - apart.loc[3, 3.0, 10.0, 1]).to_numpy().max() > 0.01


def test_exponents_of_a_power_law_are_found():
    pairs = itertools.product((0.5, 1, 2), (0.5, 1, 2), (0, 1))
    times = pd.DataFrame(pairs, columns=["lr_Z", "lr_Y", "seed"])
    times["time"] = 30 * times["lr_Z"] ** -0.25 * times["lr_Y"] ** -0.75
    found = measures.transition_exponents(times)
    assert np.allclose(found, [[-0.25, -0.75]] * 2)
    found = measures.transition_exponents(times.iloc[1:])  # a run of the first seed diverged
    assert found.isna().all(axis=1).tolist() == [True, False]
    assert (
        measures.transition_exponents(times[times["lr_Z"] == times["lr_Y"]]).isna().all(axis=None)
    )


def test_the_transition_is_where_speed_is_largest_and_only_if_it_falls_again():
    times = np.arange(61)
    c = np.zeros((61, 2, 20))
    c[:, 0, 0] = 1 / (1 + np.exp(-(times - 25) / 3))
    c[:, 1, 0] = np.exp(times / 20)  # gathers speed to the end
    keys = {"num_last": 1, "lr_Z": 0.5, "lr_Y_multiplier": 4.0, "sequence_class": 0}
    runs = pd.DataFrame(c.reshape(-1, 20), columns=ATTENTION).assign(**keys, diverged_at=-1)
    runs = runs.assign(iteration=2 * np.repeat(times, 2), seed=np.tile([0, 1], 61))
    found = measures.transition_times(runs)
    assert found["time"][0] == pytest.approx(50, abs=1) and np.isnan(found["time"][1])
    assert (found["lr_Y"] == 2.0).all()


def test_small_rates_rescale_time():
    """At a quarter of both rates it comes 4 times as late; momentum adds m / (1 - m) = 9."""
    slow = {"slower": [8, 32], "seeds": 2, "iterations": 60}
    runs = simulate_slower(DEFAULT.transition.model_copy(update=slow))
    time = {s: measures.transition_times(of)["time"].mean() for s, of in runs.groupby("slower")}
    assert (time[32] - 9) / (time[8] - 9) == pytest.approx(4, rel=0.2)


def test_text_is_split_numbered_and_cut_into_windows():
    words = [f"w{n}" for n in range(140)]
    rows = [" ".join(["<unk>", *words[: 2 + n % 138]]) for n in range(800)]
    changed = {"vocabulary": 100, "held_out_share": 0.1, "held_out_sequences": 5, "length": 8}
    settings = DEFAULT.language_model.model_copy(update=changed)
    found = encode(pd.DataFrame({"text": rows}), settings)
    assert found.vocabulary == ["<unk>", "<eos>", *(f"w{n}" for n in range(98))]
    assert found.held_out.shape == (5, 9) and (found.training == 1).sum() == 720
    assert found.bins == ["1–10", "11–98", "<unk>"]
    large = Text(["w"] * 1200, found.training, found.held_out)
    assert large.bins == ["1–10", "11–100", "101–1000", "1001–1198", "<unk>"]
    places = large.bin_of[[0, 1, 2, 11, 12, 101, 102, 1001, 1002, 1199]]
    assert places.tolist() == [4, -1, 0, 0, 1, 1, 2, 2, 3, 3] and len(large.bin_of) == 1200
    for key, value in (("held_out_sequences", 10**6), ("batch", 10**5)):
        with pytest.raises(OnelayerError, match=f"language_model.{key}: {value}; .* tokens"):
            encode(pd.DataFrame({"text": rows}), settings.model_copy(update={key: value}))


def test_training_text_is_read_through_and_again_from_the_start():
    columns, starts = torch.arange(100).reshape(4, 25), torch.tensor([[3], [20]])
    for step in (0, 1, 7):
        tokens, _ = language_model.read_batch(columns, starts, 6, step)
        for run, start in enumerate((3, 20)):
            assert (tokens[run] == columns[:, (start + 6 * step + np.arange(7)) % 25]).all()


def test_dropout_differs_by_step_and_use_and_keeps_the_mean():
    random, ones = RunRandom([0, 1]), torch.ones(2, 100, 100)
    drops = [
        language_model.dropout(random, 0.3, step, ones, use)
        for step, use in ((0, "out"), (1, "out"), (0, "hidden"))
    ]
    for one, other in itertools.combinations([*drops[0], drops[1][0], drops[2][0]], 2):
        assert abs(one.mean() - 1) < 0.03 and (one != other).float().mean() > 0.3


def test_held_out_text_is_measured_in_parts_as_at_once():
    rng = np.random.default_rng(0)
    corpus = Text(["w"] * 40, rng.integers(40, size=99), rng.integers(40, size=(20, 9)))
    parameters = language_model.initial_parameters([0, 1], 40, 8, 8)
    found = language_model.observe(parameters, corpus, True)
    tokens = torch.from_numpy(corpus.held_out)[None].expand(2, -1, -1)
    states, scores = language_model.forward(parameters, tokens[:, :, :-1], True)
    loss = language_model.decoder_loss(parameters, states, tokens[:, :, 1:])
    assert torch.allclose(found["loss"].float(), loss, rtol=1e-5)
    top1 = torch.softmax(scores, dim=3).amax(3).mean((1, 2))
    assert torch.allclose(found["top1"].float(), top1, rtol=1e-5)


class StoppedError(Exception):
    """What kills a training in a test."""


def test_training_on_text_learns_and_goes_on_after_an_interruption(tmp_path):
    words = np.arange(2000) % 28 + 2  # a text in which the next word is certain
    corpus = Text([f"w{n}" for n in range(30)], words, words[:36].reshape(4, 9))
    changed = {"width": 8, "hidden": 8, "length": 8, "batch": 4, "seeds": 2, "iterations": 12}
    changed |= {"measure_every": 6}
    settings = DEFAULT.language_model.of("gentle")
    faster = settings.trainings[0].model_copy(update={"lr": 0.01, "lr_feed_forward": 0.01})
    settings = settings.model_copy(update=changed | {"trainings": [faster]})
    whole = language_model.train_language_model(corpus, settings)

    def stop(items, **_):
        yield from itertools.islice(items, 7)
        raise StoppedError

    execution = Execution(checkpoint=Checkpoint(tmp_path / "checkpoint", seconds=0))
    with pytest.raises(StoppedError):
        stopped = dataclasses.replace(execution, progress=stop)
        language_model.train_language_model(corpus, settings, stopped)
    resumed = language_model.train_language_model(corpus, settings, execution)
    for name, tensor in whole.parameters.items():
        assert torch.equal(tensor, resumed.parameters[name]), name
    table = language_model.tabulate_measures(resumed, corpus.bins)
    assert (table.groupby("quantity").size() == 6).all()  # two seeds at 0, 6 and 12
    loss = table.query("quantity == 'loss'")
    loss = loss.groupby("iteration")["value"].mean()
    assert loss.iloc[-1] < loss.iloc[0]
    lost = dataclasses.replace(resumed, diverged_at=torch.tensor([6, -1]))
    alive = language_model.tabulate_measures(lost, corpus.bins).groupby("seed")["iteration"]
    assert alive.max().tolist() == [6, 12]
    maps = resumed.observed["map"]  # at three looks, of two seeds
    assert maps.shape == (3, 2, 8, 8) and torch.allclose(maps.sum(3), torch.ones(3, 2, 8))


@pytest.mark.parametrize(
    ("block", "changed", "said"),
    [
        ("scan", {"lr_Y_multiplier": [0.0]}, "only rest freezes Y"),
        ("scan", {"num_last": [1, 2]}, "one num_last"),
        ("scan", {"every": 2}, "speed is measured"),
        ("scan", {"longer": 1}, "longer of at least 2"),
        ("entropy_sweep", {"lr_Z": [1.0, 1.0]}, "given twice"),
        ("entropy_sweep", {"seeds": 1}, "greater than or equal to 2"),
        ("language_model", {"widht": 8}, "did you mean 'width'"),
    ],
)
def test_settings_that_make_no_sense_are_refused(block, changed, said):
    with pytest.raises(pydantic.ValidationError, match=said):
        ScanSnapSettings(**CONFIG | {block: CONFIG[block] | changed})
