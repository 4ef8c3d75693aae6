"""Claims about the Scan and Snap room: simulations, tables and claims on small sizes."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
import scipy.stats
import torch

from onelayer.compute.checkpoint import Checkpoint
from onelayer.compute.execution import Execution
from onelayer.evidence.claims import readable
from onelayer.evidence.findings import check
from onelayer.evidence.sentences import NOT_AS_CLAIMED, say
from onelayer.evidence.tables import read_tables
from onelayer.evidence.verdicts import Number
from onelayer.papers.scan_snap import claims, entropy_sweep, measures, text_training
from onelayer.papers.scan_snap.data import TOKEN_CHANCES
from onelayer.papers.scan_snap.findings import FINDINGS
from onelayer.papers.scan_snap.measures import ATTENTION, SETTINGS
from onelayer.papers.scan_snap.simulation import chunk_size, simulate, simulate_changes
from onelayer.papers.scan_snap.text import Text
from onelayer.settings.root import default_settings
from onelayer.settings.scan_snap import TextTrainingSettings
from tests.conftest import ROOT, StoppedError, stopping_at

SCAN_SNAP = default_settings().scan_snap
PUBLISHED = entropy_sweep.read_published(ROOT / "workflow/reference/scan_snap_figure6.csv")
SCAN = SCAN_SNAP.scan.but(
    num_last=[2],
    next_per_last=1,
    lr_Z=[1.0],
    lr_Y_multiplier=[1.0],
    initial="zero",
    seeds=8,
    every=1,
    longer=2,
)
SWEEP = SCAN_SNAP.entropy_sweep.but(
    num_last=[3],
    next_per_last=2,
    lr_Z=[0.5, 3.0],
    lr_Y_multiplier=[1.0, 10.0],
    initial="uniform",
    seeds=3,
)
GENTLE = TextTrainingSettings(name="gentle", optimizer="adam", lr=1e-3, lr_feed_forward=1e-3)


def synthetic_claims(scan, sweep, iterations=100):
    """The table of claims on the scan and the sweep alone."""
    found = claims.scan_claims(scan, iterations) + claims.sweep_claims(sweep, PUBLISHED, 100)
    return claims.tabulated(found)


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
    common = measures.common_mass(c).mean(axis=1)
    for iteration, expected in ((0, 0.645), (10, 0.570), (20, 0.454), (40, 0.395), (98, 0.387)):
        assert abs(common[iteration] - expected) < 0.03, iteration
    assert abs(measures.distinct_entropy(c[0]).mean() - 2.151) < 5e-4
    assert abs(measures.distinct_entropy(c[98]).mean() - 1.935) < 0.06
    distinct = c[98, :, 10:]
    assert abs((distinct.max(axis=1) / distinct.sum(axis=1)).mean() - 0.295) < 0.02
    gain = c[98] / c[0]
    assert abs(gain[:, 19].mean() - 2.81) < 0.3 and abs(gain[:, 10].mean() - 0.88) < 0.04
    assert measures.spearman(gain[:, 10:], np.tile(TOKEN_CHANCES[10:], (8, 1))).mean() >= 0.99


def test_trajectories_do_not_depend_on_the_order_of_rows(scan):
    times, c = measures.trajectories(scan)
    mixed = scan.sample(frac=1, random_state=0)
    for whole, again in zip((times, c), measures.trajectories(mixed), strict=True):
        np.testing.assert_array_equal(again, whole)
    again, whole = map(measures.transition_times_by_run, (mixed, scan))
    pd.testing.assert_frame_equal(again, whole)
    sizes = pd.concat([scan, scan.assign(num_last=1)])
    assert measures.trajectories(sizes)[1].shape == (103, 16, 20)


@pytest.mark.parametrize("rows", [slice(1, None), [0, *range(103 * 8 * 2)]])
def test_a_run_without_one_of_the_iterations_has_no_trajectory(scan, rows):
    with pytest.raises(ValueError, match="the same iterations, once each"):
        measures.trajectories(scan.iloc[rows])


def test_published_cells_are_reached_on_a_few_settings(sweep):
    both = entropy_sweep.assemble(sweep, PUBLISHED, 100)
    table = both[both["quantity"] == "entropy"]
    assert len(table) == 64
    ran = table.dropna(subset=["value"])
    assert len(ran) == 4 and (ran["runs"] == 3).all()
    reaches = (ran["effect_low"] < 1) & (ran["effect_high"] > 1)
    assert (ran["verdict"][reaches & (ran["effect_low"] > 0)] == "reproduced").all()
    assert not ran["verdict"].isin(["opposite", "negligible"]).any()
    assert (ran["value"] - ran["published"]).abs().max() < 0.06
    z = both[both["quantity"] == "entropy_z"]
    assert len(z) == 4 and (z["value"].abs() < 4).all() and (z["verdict"] == "").all()
    rest = table[table["value"].isna()]
    assert (rest["verdict"] == "not run").all()
    assert (rest["note"] == "not among the simulated settings").all()


def test_the_reference_has_all_published_cells():
    assert len(PUBLISHED) == 64 and not PUBLISHED.duplicated(SETTINGS).any()
    assert PUBLISHED["published"].between(1.5, 2.1).all()
    assert PUBLISHED["tolerance"].unique().tolist() == [0.0005]


def test_a_run_is_the_same_whatever_is_swept_beside_it(sweep):
    alone = SWEEP.model_copy(update={"lr_Z": [3.0], "lr_Y_multiplier": [10.0]})
    keys = [*SETTINGS, "seed", "sequence_class"]
    together = sweep.set_index(keys)[ATTENTION]
    apart = simulate(alone).set_index(keys)[ATTENTION]
    assert np.abs(together.loc[apart.index] - apart).to_numpy().max() < 1e-4
    assert np.abs(apart.loc[3, 3.0, 10.0, 0] - apart.loc[3, 3.0, 10.0, 1]).to_numpy().max() > 0.01


@pytest.mark.parametrize(
    ("settings", "most", "size"),
    [(16, 16, 16), (16, 40, 32), (400, 16, 16), (7, 3, 1), (1, 16, 16), (20, 16, 10)],
)
def test_chunks_are_whole_streams_or_equal_parts_of_one(settings, most, size):
    assert chunk_size(settings, most) == size


def test_claims_are_all_decided_on_the_synthetic_runs(scan, sweep):
    table = synthetic_claims(scan, sweep)
    describe = ("drop_time[", "tokens_", "entropy_z", "entropy_c", "entropy_d")
    described = table["quantity"].str.startswith(describe)
    assert (table.loc[described, "verdict"] == "").all() and described.sum() == 4 + 3 + 4
    table = table[~described]
    assert not table["verdict"].isin(["", "not reached", "not run"]).any()
    assert set(table.loc[table["published"].notna(), "kind"]) == {"published"}
    assert set(table.loc[table["published"].isna(), "kind"]) == {"claim"}
    by = table.set_index("quantity")
    for name in ("common_mass_change", "gain_spearman", "largest_attention", "slowing_down"):
        assert by.loc[name, "verdict"] == "reproduced", name
    assert by.loc["gain_spearman", "value"] >= 0.99
    assert by.loc["gain_spearman", "high"] <= 1
    assert by.loc["way_after", "value"] < 0.2
    assert by.loc["slowing_down", "value"] > 2  # 800-fold: 2.9
    assert by.loc["common_mass_change", "tolerance"] == pytest.approx(0.0645, abs=1e-4)
    runs = measures.entropy_by_run(sweep)
    at_end = runs[runs["iteration"] == 100].groupby("lr_Z")["entropy"].mean()
    assert by.loc["lr_Z_difference", "value"] == pytest.approx(at_end[3.0] - at_end[0.5])
    assert not table.duplicated(["claim", "setting", "quantity"]).any()
    assert len(readable(table)) == len(table)


def test_only_the_rarest_tokens_drop(scan, sweep):
    """Three of ten in every run, the six most frequent in none: the order is of few of them."""
    by = synthetic_claims(scan, sweep).set_index("quantity")
    found = by.loc["tokens_dropping"]
    assert 3 <= found["value"] <= 4 and found["verdict"] == ""
    assert by.loc["drop_delay[1 to 2]", "verdict"] == "reproduced"
    assert by.loc["tokens_always_dropping", "value"] == 3
    assert by.loc["tokens_never_dropping", "value"] == 6
    assert by.loc["drop_time_spearman", "value"] > 0.8  # which does not show it


def test_counts_of_tokens_that_drop():
    drops = np.full((6, 20), np.nan)
    drops[:, 10:16], drops[:3, 16] = 7, 9
    mean, always, never, *_ = (c.estimate["value"] for c in claims.drop_claims(drops, 100))
    assert (mean, always, never) == (6.5, 6, 3)


def test_a_delay_says_nothing_where_the_later_token_alone_drops():
    drops = np.full((6, 20), np.nan)
    drops[:, 11], drops[:2, 10], drops[:4, 12] = 20, [15, 16], 40
    table = claims.tabulated(claims.drop_claims(drops, 100)).set_index("quantity")
    against, order, none = (table.loc[f"drop_delay[{n} to {n + 1}]"] for n in (1, 2, 3))
    assert against["verdict"] == none["verdict"] == "not reached"
    assert against["note"].endswith("in 4 of 6 runs the later one alone drops")
    assert none["note"].endswith("both drop in no run")
    assert order["verdict"] == "reproduced"  # the rarer one alone drops in the others
    assert order["note"].endswith("4 of 6 runs have it")


def test_attention_that_stands_still_shows_nothing(scan, sweep):
    attention = scan.loc[scan["iteration"] == 0, ATTENTION].to_numpy()
    still = scan.copy()
    still[ATTENTION] = np.tile(attention, (still["iteration"].nunique(), 1))
    table = synthetic_claims(still, sweep)
    own = table[(table["task"] == "synthetic") & (table["num_last"] == "")]
    own = own[~own["quantity"].str.startswith(("drop_", "entropy_", "tokens_a", "tokens_n"))]
    assert (own["verdict"] == "not reached").all() and len(own) == 8
    stuck = sweep.copy()
    stuck[ATTENTION] = np.tile(TOKEN_CHANCES, (len(stuck), 1))
    ran = entropy_sweep.assemble(stuck, PUBLISHED, 100).dropna(subset=["value"])
    assert len(ran) == 4 and (ran["verdict"] == "not reached").all()
    assert ran["note"].str.contains("no run has left its start").all()


def test_a_claim_that_does_not_hold_is_said_not_to(scan, sweep):
    """Time reversed: common tokens gain, distinct ones lose."""
    scan = scan[scan["iteration"] <= 100]
    table = synthetic_claims(scan.assign(iteration=100 - scan["iteration"]), sweep)
    table = table.set_index("quantity")
    assert table.loc["common_mass_change", "verdict"] == "opposite"
    assert table.loc["gain_spearman", "verdict"] == "opposite"
    assert table.loc["slowing_down", "verdict"] == "opposite"


def test_claims_on_text_compare_the_first_and_the_last_iteration():
    rows = [
        {"seed": seed, "iteration": t, "quantity": q, "value": start + slope * t + 0.01 * seed * t}
        for q, start, slope in (
            ("loss", 7.0, -0.02),
            ("entropy", 2.5, -0.1),
            ("top1", 0.2, 0.05),
            ("sparse", 0.0, 0.0),
            ("received[1–10]", 1.0, 0.1),
            ("received[1001+]", 1.0, 0.1),
        )
        for seed in range(3)
        for t in (0, 5, 10)
        if (seed, t) != (2, 10)  # a run that diverged on the way counts nowhere
    ]
    table = claims.tabulated(claims.text_claims({GENTLE: pd.DataFrame(rows)}, [], 1))
    found = table[(table["task"] == "text") & (table["training"] == "gentle")]
    assert (found["iterations"] == 10).all()
    winner = found[found["claim"] == claims.NO_WINNER]
    assert set(winner["quantity"]) == {"top1"}
    winner = winner[winner["seed"] == "all"]
    assert winner["verdict"].tolist() == ["undecided"]  # .7 and .8 of two seeds
    found = found[found["claim"] != claims.NO_WINNER]
    found = found.set_index("quantity")
    text, alone = found[found["seed"] == "all"], found[found["seed"] != "all"]
    assert (text["n"] == 2).all() and (text["runs"] == 2).all()
    entropies = alone.loc["entropy_change"].set_index("seed")["value"]
    assert entropies.to_dict() == pytest.approx({"0": -1.0, "1": -0.9})
    assert (alone["verdict"] == "").all() and (alone["n"] == 1).all()
    assert len(readable(table)) == (table["seed"] == "all").sum()
    assert abs(text.loc["entropy_change", "value"] - -0.95) < 1e-12
    assert text.loc["top1_change", "value"] == pytest.approx(0.55)
    assert text.loc["received[1–10]_change", "verdict"] == "opposite"
    assert text.loc["sparse_change", "verdict"] == "undecided"
    assert text.loc["received[1001+]_change", "verdict"] == "reproduced"
    assert text.loc["received[1001+]_change", "ranks"] == "1001+"
    assert text.loc["entropy_change", "ranks"] == ""
    aggressive = claims.text_claims({GENTLE.but(name="aggressive"): pd.DataFrame(rows)}, [], 1)
    own = {"scan_snap/claims": claims.tabulated(aggressive)}
    rare = next(finding for finding in FINDINGS if finding.name == "text_rare_tokens")
    assert "the rarest tokens gain attention" in say(rare, own).sentence
    assert "attention on tokens of ranks 1001+ by frequency has" in say(rare, own).sentence
    assert (text["kind"] == "analogue").all()
    own = claims.tabulated(claims.text_claims({GENTLE: pd.DataFrame(rows)}, ["gentle"], 35))
    own = own[(own["task"] == "text") & (own["seed"] == "all")]
    assert (own["kind"] == "claim").all()
    assert own["verdict"].tolist() == [*text["verdict"], *winner["verdict"]]
    matters = own.set_index("quantity").loc["entropy_change", "tolerance"]
    assert matters == pytest.approx(np.mean([np.log(n) for n in range(1, 36)]) / 10)
    flat = pd.DataFrame(rows)
    flat.loc[flat["quantity"] == "loss", "value"] = 7.0
    table = claims.tabulated(claims.text_claims({GENTLE: flat}, [], 1))
    text = table[(table["training"] == "gentle") & (table["seed"] == "all")]
    assert len(text) == 6 and (text["verdict"] == "not reached").all()
    assert text["note"].str.contains("a run stood still").all()


def test_a_token_with_most_of_the_attention_has_won_whatever_it_had_before():
    ends = {"loss": (7, 6), "entropy": (2, 1), "top1": (0.12, 0.6), "sparse": (0, 0)}
    ends |= {"received[1–10]": (1, 1)}
    rows = [
        {"seed": seed, "iteration": t, "quantity": q, "value": ends[q][t] + 0.001 * seed * t}
        for q in ends
        for seed in range(3)
        for t in (0, 1)
    ]
    table = claims.tabulated(claims.text_claims({GENTLE: pd.DataFrame(rows)}, [], 35))
    winner = table[(table["claim"] == claims.NO_WINNER) & (table["seed"] == "all")].iloc[0]
    assert winner["value"] == pytest.approx(0.601) and winner["verdict"] == "opposite"


def test_a_training_without_positions_stands_beside_its_twin():
    """After as many iterations, seed by seed; seeds that only one of them has are left out."""

    def measured(seeds, iterations, shift):
        rows = [
            {"seed": seed, "iteration": t, "quantity": q, "value": v - 0.01 * t + shift * (t > 0)}
            for q, v in (("loss", 7.0), ("entropy", 2.5), ("top1", 0.2), ("sparse", 0.5),
                         ("received[1–10]", 1.0), ("received[11–100]", 1.0))
            for seed in range(seeds)
            for t in iterations
        ]  # fmt: skip
        return pd.DataFrame(rows)

    without = GENTLE.model_copy(update={"name": "no-positions", "positions": False})
    elsewhere = GENTLE.model_copy(update={"name": "far", "corpus": "wikitext"})
    text = {
        GENTLE: measured(3, (0, 10, 20), 0),
        without: measured(4, (0, 10), -0.3),
        elsewhere: measured(2, (0, 10), 5),
    }
    table = claims.tabulated(claims.text_claims(text, [], 1))
    assert (table["setting"] == "real text, far, wikitext").any()
    found = table[table["claim"] == "no positional encoding"].set_index("quantity")
    assert set(found["setting"]) == {"real text, no-positions"} and len(found) == 5
    assert np.allclose(found["value"], -0.3) and (found["n"] == 3).all()
    assert "at iteration 10" in found.loc["loss_without_positions", "note"]


def test_a_training_has_its_own_corpus_seeds_and_iterations():
    block = SCAN_SNAP.language_model
    own = {"seeds": 5, "iterations": 700, "corpus": "dump-excerpt", "positions": False}
    training = GENTLE.model_copy(update=own)
    block = block.model_copy(update={"trainings": [*block.trainings, training]})
    found = block.of("gentle")
    assert found.trainings[0].positions and (found.seeds, found.corpus) == (3, "vital-articles")
    assert found.maps_at == [0, 500, 1000, 1500]
    block = block.model_copy(update={"trainings": [training]})
    found = block.of("gentle")
    assert (found.seeds, found.iterations, found.corpus) == (5, 700, "dump-excerpt")
    assert found.maps_at == [0, 500, 700] and found.observed[-1] == 700
    halved = training.model_copy(update={"iterations": 500})
    halved = block.model_copy(update={"trainings": [halved]})
    assert halved.of("gentle").maps_at == [0, 500]
    assert block.corpora == ["dump-excerpt"]


def test_diverged_runs_are_counted_and_never_averaged_in(sweep):
    broken = sweep.copy()
    lost = (broken["lr_Z"] == 3.0) & (broken["seed"] == 1)
    broken.loc[lost, "diverged_at"] = 7
    broken.loc[lost, ATTENTION] = np.nan
    cells = entropy_sweep.cells(broken, 100).set_index(SETTINGS)
    hit, whole = cells.loc[(3, 3.0, 1.0)], cells.loc[(3, 0.5, 1.0)]
    assert hit["note"] == "1 of 3 runs diverged and are left out" and hit["n"] == 2
    assert np.isfinite(hit["value"]) and whole["n"] == 3 and whole["note"] == ""
    assert hit["verdict"] == whole["verdict"] == ""
    alone = entropy_sweep.cells(broken[broken["seed"] < 2], 100).set_index(SETTINGS)
    assert alone.loc[(3, 3.0, 1.0), "verdict"] == "undecided"  # without an interval
    # Along the other rate the seed has one row less than the others, and is left out.
    for claim in claims.sweep_claims(broken, PUBLISHED, 100):
        if claim.quantity.endswith(("_spearman", "_difference")):
            assert claim.estimate["n"] == 2


def test_measures_of_known_attention():
    c = np.zeros((1, 20))
    c[0, :10], c[0, 10], c[0, 11] = 0.08, 0.1, 0.1
    assert measures.common_mass(c)[0] == pytest.approx(0.8)
    assert measures.distinct_entropy(c)[0] == pytest.approx(np.log(2))
    assert measures.spearman(np.arange(5), np.arange(5) ** 3) == pytest.approx(1)
    assert np.isnan(measures.spearman(np.ones(5), np.arange(5)))
    tied, places = np.array([[3, 1, 3, 0], [0, 0, 0, 1]]), np.tile(np.arange(4), (2, 1))
    expected = [scipy.stats.spearmanr(*rows).statistic for rows in zip(tied, places, strict=True)]
    assert measures.spearman(tied, places) == pytest.approx(expected)


def test_drops_and_transitions_of_known_paths():
    """Token 0 loses .8% an iteration, token 1 from iteration 5 on, the others stay."""
    times = np.arange(41)
    c = np.full((41, 2, 20), 0.05)
    c[:, :, 0] *= (1 - 0.008 * times)[:, None]
    c[:, :, 1] *= (1 - 0.008 * np.maximum(times - 5, 0))[:, None]
    drops = measures.drop_times(c)
    assert (drops[:, 0] == 2).all() and (drops[:, 1] == 7).all()
    assert np.isnan(drops[:, 2:]).all()
    # A logistic way is fastest in its middle; a way that only gathers speed has no transition.
    c = np.full((41, 3, 20), 0.05)
    c[:, 0, 0] += 0.5 / (1 + np.exp(-(times - 12) / 2))
    c[:, 1, 0] += 0.5 * np.exp((times - 41) / 4)
    found = measures.transition_times(times, c)
    assert abs(found[0] - 12) <= 0.5 and np.isnan(found[1]) and np.isnan(found[2])


def test_exponents_of_a_power_law_are_its_own():
    pairs = [(z, y, seed) for z in (0.5, 1, 2) for y in (1, 3, 9) for seed in (0, 1)]
    times = pd.DataFrame(pairs, columns=["lr_Z", "lr_Y", "seed"])
    times["time"] = 7 * times["lr_Z"] ** -0.2 * times["lr_Y"] ** -0.5 * (1 + times["seed"])
    times.loc[times.index[-1], "time"] = np.nan  # a run of seed 1 that did not get there
    found = measures.transition_exponents(times)
    assert found.loc[0].to_dict() == pytest.approx({"lr_Z": -0.2, "lr_Y": -0.5})
    assert found.loc[1].isna().all()


def test_claims_on_drops_transitions_and_changed_assumptions(scan, sweep, tmp_path):
    rates = {"lr_Z": [0.5, 2.0], "lr_Y_multiplier": [0.5, 2.0], "iterations": 40, "longer": 1}
    both = simulate(SCAN.model_copy(update=rates | {"seeds": 3}))
    short = {"seeds": 2, "length": 32, "batch": 64}
    changed = SCAN_SNAP.assumptions.but(lengths=[8, 64], lr_Y_multiplier=[0.1, 3.0])
    execution = Execution(checkpoint=Checkpoint(tmp_path / "checkpoint"))
    changes = simulate_changes(SCAN.model_copy(update=short), changed, execution)
    assert set(changes["assumption"]) == {"length", "decoder", "positions"}
    found = claims.scan_claims(scan, 100) + claims.transition_claims(both)
    table = claims.tabulated(found + claims.changed_claims(changes, 100, 32))
    assert not table.duplicated(["claim", "setting", "quantity"]).any()
    by = table[table["assumption"] == ""].set_index("quantity")
    assert by.loc["drop_time_spearman", "verdict"] == "reproduced"
    assert abs(by.loc["drop_time[1]", "value"] - 11) < 2  # 64 seeds: median 11
    assert by.loc["lr_Y_exponent", "verdict"] == "reproduced"
    changed = table[table["assumption"] != ""]
    keys = ["assumption", "changed", "assumption_is", "place", "kind"]
    assert changed.groupby(keys).size().to_dict() == {
        ("positions", "learned", "broken", "abstract, assumption (a)", "analogue"): 4,
        ("length", "8", "broken", "abstract, assumption (b)", "analogue"): 4,
        ("length", "64", "kept", "abstract", "claim"): 4,
        ("decoder", "0.1", "broken", "abstract, assumption (c)", "analogue"): 4,
        ("decoder", "3", "kept", "abstract", "claim"): 4,
    }
    remarks = {finding.name: finding for finding in FINDINGS}
    for name, settings in (("changed_assumptions", 3), ("kept_assumptions", 2)):
        said = say(remarks[name], {"scan_snap/claims": table}).sentence
        assert said.endswith(f"({settings} settings).")
    losing = changed[changed["quantity"] == "common_mass_change"]
    assert (losing["value"] < -0.05).all()


def test_a_rank_correlation_is_that_of_means_as_the_published_one_is():
    """Not the mean of the seeds' own, which noise pulls to 0."""
    rng = np.random.default_rng(0)
    rising = np.broadcast_to(np.arange(4.0), (10, 2, 4))
    noisy = claims.trend_of_means(rising + rng.normal(scale=1.5, size=rising.shape), "noisy")
    alone = claims._trend(rising + rng.normal(scale=1.5, size=rising.shape)).mean()
    assert noisy["value"] == pytest.approx(1) and alone < 0.8 and noisy["n"] == 10
    assert noisy["low"] < 0.95 and noisy["high"] == pytest.approx(1)
    sure = claims.trend_of_means(rising + rng.normal(scale=0.1, size=rising.shape), "sure")
    assert sure["low"] == sure["high"] == pytest.approx(1)
    assert np.isnan(claims.trend_of_means(rising[:1], "one")["low"])
    for nothing in (rising[:0], np.zeros((3, 1, 4))):
        assert claims.trend_of_means(nothing, "nothing")["n"] == 0


def test_published_rank_correlations_are_granted_the_noise_of_their_means(scan, sweep):
    by = synthetic_claims(scan, sweep).set_index("quantity")
    cells = PUBLISHED[PUBLISHED["num_last"] == 3].set_index(["lr_Z", "lr_Y_multiplier"])
    found = by.loc["lr_Y_multiplier_spearman"]
    assert (
        found["published"]
        == np.sign(
            [cells.loc[(z, 10), "published"] - cells.loc[(z, 1), "published"] for z in (0.5, 3)]
        ).mean()
    )
    # Of a pair of cells the order turns with the chance of a normal difference.
    chance = []
    for z in (0.5, 3):
        pair = cells.loc[[(z, 1), (z, 10)]]
        spread = np.sqrt((pair["published_std"] ** 2).sum() / 10)
        p = scipy.stats.norm.cdf(np.diff(pair["published"])[0] / spread)
        chance.append(4 * p * (1 - p))
    expected = np.sqrt(10 * np.sum(chance)) / 2
    assert found["published_std"] == pytest.approx(expected, abs=0.1)


def test_what_rates_do_is_said_of_all_numbers_of_query_tokens_and_of_the_weakest():
    """Two panels of other seeds: their mean has half the widths' root of squares."""
    panels = [
        claims.Claim("words", "Fig. 6", f"{n}", "lr_Z_difference",
                     {"value": value, "low": value - half, "high": value + half, "n": 10}, "",
                     compared=Number(0.0), published=published, published_std=std, tolerance=0.001,
                     keys=claims.KEYS | {"num_last": n})
        for n, value, half, published, std in (
            ("1", -0.3, 0.03, -0.2, 0.3), ("3", 0.1, 0.04, 0.2, 0.4),
        )
    ]  # fmt: skip
    mean, weakest = claims.over_sizes(panels, -1)
    assert mean.estimate == pytest.approx({"value": -0.1, "low": -0.125, "high": -0.075, "n": 10})
    assert mean.published == pytest.approx(0) and mean.published_std == pytest.approx(0.25)
    assert mean.keys["num_last"] == "all" and weakest.keys["num_last"] == "3"
    judged = claims.tabulated([weakest]).iloc[0]
    assert judged["verdict"] == "opposite" and judged["kind"] == "claim"
    assert claims.over_sizes(panels, 1)[1].keys["num_last"] == "1"
    assert claims.over_sizes(panels[:1], 1) == []


def test_differences_stand_beside_those_of_the_published_cells_that_ran(scan, sweep):
    """Two rates of four each: the other published cells do not count."""
    by = synthetic_claims(scan, sweep).set_index("quantity")
    cells = PUBLISHED[PUBLISHED["num_last"] == 3].set_index(["lr_Z", "lr_Y_multiplier"])
    at = cells["published"]
    expected = (at[0.5, 10] - at[0.5, 1] + at[3, 10] - at[3, 1]) / 2
    found = by.loc["lr_Y_multiplier_difference"]
    assert found["published"] == pytest.approx(expected)
    stds = cells["published_std"].loc[[(0.5, 10), (0.5, 1), (3, 10), (3, 1)]]
    assert found["published_std"] == pytest.approx(np.sqrt((stds**2).sum()) / 2)


def test_every_finding_is_one_row_of_the_reference_run():
    tables = read_tables((ROOT / "docs/reference/tables/scan_snap").glob("*.csv"))
    new = {"scan_snap/rest", "all_papers/exponents"}
    check({"scan_snap": FINDINGS}, [*tables, *new], ROOT / "workflow/reference")
    made = [finding for finding in FINDINGS if finding.table in tables]
    assert {finding.table for finding in FINDINGS if finding not in made} <= new
    said = {finding.name: say(finding, tables) for finding in made}
    assert all(one is not None and one.verdict != "not run" for one in said.values())
    assert not [name for name, one in said.items() if one.section == NOT_AS_CLAIMED]
    assert said["decoder_rate_softens_everywhere"].verdict == "opposite"
    text = [one for name, one in said.items() if name.startswith("text_") and one.verdict]
    assert len(text) == 6 and {one.kind for one in text} == {"analogue"}
    assert "from 3 of them in every run, from 6 in none" in said["tokens_that_drop"].sentence
    cells = tables["scan_snap/entropy_sweep"]
    z = cells.loc[cells["quantity"] == "entropy_z", "value"].abs()
    assert len(z) == 64 and z.max() < 2
    claim = tables["scan_snap/claims"].set_index("quantity")["value"]
    assert round(claim["entropy_correlation"], 3) == 0.987


def test_findings_of_a_small_run_are_said(scan, sweep):
    """Of all others it is said that they were left out."""
    table = synthetic_claims(scan, sweep)
    said = [say(finding, {"scan_snap/claims": table}) for finding in FINDINGS]
    told = [one for one in said if one and one.verdict not in ("", "not run")]
    assert {"entropies", "drops_in_order", "fixed_combination"} <= {o.finding.name for o in told}
    assert all("{" not in one.sentence for one in said if one)


def test_the_published_cells_fall_with_ten_query_tokens():
    """What the finding on the weakest panel says of them."""
    ten = PUBLISHED[PUBLISHED["num_last"] == 10].pivot_table("published", "lr_Z", "lr_Y_multiplier")
    assert (ten[10] - ten[1]).mean() < -0.02


def test_only_sgd_on_wikitext_is_the_papers_own_training():
    block = SCAN_SNAP.language_model
    assert block.of_the_paper([]) == []
    assert block.of_the_paper([block.corpus]) == ["aggressive"]
    elsewhere = block.trainings[0].model_copy(update={"name": "far", "corpus": "wiki"})
    block = block.model_copy(update={"trainings": [*block.trainings, elsewhere]})
    assert block.of_the_paper(["wiki"]) == ["far"]


def test_training_on_text_is_measured_and_goes_on_after_an_interruption(tmp_path):
    words = np.arange(2000) % 28 + 2  # a text in which the next word is certain
    text = Text([f"w{n}" for n in range(30)], words, words[:36].reshape(4, 9))
    training = {"name": "adam", "optimizer": "adam", "lr": 0.01, "lr_feed_forward": 0.01}
    settings = SCAN_SNAP.language_model.but(
        corpus="made-up", width=8, hidden=8, length=8, batch=4, seeds=2, iterations=12,
        measure_every=6, maps_at=[0], trainings=[training],
    )  # fmt: skip
    whole = text_training.train_language_model(text, settings)

    execution = Execution(checkpoint=Checkpoint(tmp_path / "checkpoint", seconds=0))
    with pytest.raises(StoppedError):
        stopped = dataclasses.replace(execution, progress=stopping_at(7))
        text_training.train_language_model(text, settings, stopped)
    resumed = text_training.train_language_model(text, settings, execution)
    for name, tensor in whole.parameters.items():
        assert torch.equal(tensor, resumed.parameters[name]), name
    table = text_training.tabulate_measures(resumed)
    assert set(table["quantity"]) >= {"loss", "entropy", "top1", "sparse", "received[1–10]"}
    assert (table.groupby(["quantity", "seed"]).size() == 3).all()
    loss = table[table["quantity"] == "loss"].groupby("iteration")["value"].mean()
    assert loss.iloc[-1] < loss.iloc[0]
    text_training.write_maps(resumed, text, [0, 12], tmp_path / "maps.npz")
    maps = np.load(tmp_path / "maps.npz", allow_pickle=False)
    assert maps["maps"].shape == (2, 8, 8) and len(maps["tokens"]) == 8
    assert np.allclose(maps["maps"].sum(axis=2), 1, atol=1e-5)


def test_grids_and_observed_iterations():
    settings = SCAN_SNAP
    rates = settings.phase_map.rates("lr_Z")
    assert len(rates) == 20 and rates[0] == 0.1 and rates[-1] == pytest.approx(10)
    assert np.allclose(np.diff(np.log(rates)), np.log(100) / 19)
    assert settings.entropy_sweep.rates("lr_Z") == [0.5, 1, 2, 3]
    assert settings.entropy_sweep.observed == [100]
    assert settings.scan.observed == [*range(101), *range(150, 1001, 50)]
