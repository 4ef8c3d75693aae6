"""Exponents of power laws, and the search for Theorem 1's worst case."""

import math

import numpy as np
import pandas as pd
import pytest

from onelayer.evidence.claims import tabulated
from onelayer.evidence.power_laws import exponents, jackknifed
from onelayer.papers.decision_lists import figures, full, reduced, worst_case
from onelayer.papers.decision_lists.claims import time_exponents
from onelayer.papers.decision_lists.constants import theorem_1_scale, uniform_gamma
from onelayer.papers.decision_lists.data import enumerate_sequences, lists_of_seed
from onelayer.papers.scan_snap import rescaling
from onelayer.papers.scan_snap.simulation import simulate, simulate_slower
from onelayer.papers.topic_structure.synthetic.claims import ratio_exponents
from onelayer.report import exponents as report
from onelayer.settings.decision_lists import Size
from onelayer.settings.root import default_settings

LISTS = default_settings().decision_lists
SCAN_SNAP = default_settings().scan_snap
SMALL = LISTS.worst_case.but(sizes=[Size(L=5, n=3, m=3)], climbs=2, rounds=3, heaviest=4)


@pytest.fixture(scope="module")
def searched() -> pd.DataFrame:
    return worst_case.search(SMALL, lambda sizes, **_: sizes)


@pytest.mark.parametrize(("ratio", "verdict"), [(0.5, "not reached"), (1.5, "opposite")])
def test_flows_that_gave_up_below_the_bound_leave_the_worst_case_open(searched, ratio, verdict):
    """The winner was perfect; a flow of the other case gave up."""
    cases = searched.assign(perfect=True, ratio=[0.1, ratio], gave_up=[1, 0])
    table = worst_case.worst_case(cases)
    first = table[table["list_length"] == "all"].set_index("quantity")
    assert first.loc["largest_time_to_bound_ratio", "verdict"] == verdict
    assert first.loc["gave_up", "value"] == 1
    reached = worst_case.worst_case(cases.assign(ratio=0.5, gave_up=0))
    judged = reached[reached["quantity"] == "largest_time_to_bound_ratio"]
    assert set(judged["verdict"]) == {"reproduced"}


def by_quantity(claims) -> pd.DataFrame:
    return tabulated(claims).set_index("quantity")


def test_exponents_of_a_power_law_are_its_own_and_what_cannot_be_told_apart_is_none():
    x = np.array([[1.0, 2], [3, 2], [5, 7], [1, 9]])
    y = 4 * x[:, 0] ** -0.3 * x[:, 1] ** 1.7
    assert exponents(y, x) == pytest.approx([-0.3, 1.7])
    assert exponents(np.column_stack([y, y**2]), x) == pytest.approx(
        np.array([[-0.3, -0.6], [1.7, 3.4]])
    )
    assert np.isnan(exponents(y, x[:, [0, 0]])).all()
    assert np.isnan(exponents(np.where(x[:, 0] > 4, np.nan, y), x)).all()


def test_the_jackknife_equals_slow_loops():
    rng = np.random.default_rng(0)
    x, groups = rng.uniform(1, 9, 12), [*"aabbccddeeff"]
    y = x**2 * np.exp(rng.normal(0, 0.1, 12))
    [found] = jackknifed(y, x[:, None], groups)
    without = []
    for name in "abcdef":
        kept = [place for place in range(12) if groups[place] != name]
        without.append(np.polyfit(np.log(x[kept]), np.log(y[kept]), 1)[0])
    middle = sum(without) / 6
    error = math.sqrt(5 / 6 * sum((one - middle) ** 2 for one in without))
    assert found["value"] == pytest.approx(np.polyfit(np.log(x), np.log(y), 1)[0])
    assert found["high"] - found["value"] == pytest.approx(2.5706 * error, rel=1e-4)  # t of 5
    assert found["n"] == 6
    assert np.isnan(jackknifed(y, x[:, None], ["a"] * 12)[0]["low"])


# Scan and Snap.


def test_slower_trainings_are_those_of_smaller_rates_for_as_many_more_iterations():
    transition = SCAN_SNAP.transition.but(iterations=10, batch=8)
    slow = SCAN_SNAP.slow_transition.but(
        slower=[1, 65], lr_Z=[0.5, 2], lr_Y_multiplier=[1, 3], seeds=2, iterations=1
    )
    found = simulate_slower(transition, slow)
    by_hand = transition.model_copy(
        update={"lr_Z": [0.5 / 65, 2 / 65], "lr_Y_multiplier": [1, 3], "seeds": 2,
                "iterations": 75, "every": 2}
    )  # fmt: skip
    of_65 = found[found["slower"] == 65].drop(columns="slower").reset_index(drop=True)
    pd.testing.assert_frame_equal(of_65, simulate(by_hand), check_dtype=False)
    assert found[found["slower"] == 1]["iteration"].max() == 11


def transitions(monkeypatch, power: float = -1.0, first: float = 300.0) -> pd.DataFrame:
    """Runs where T is first x s^-power times a power law of exponents .6 and .4 of that."""

    def times(runs):
        made = runs[["lr_Z", "lr_Y", "seed"]].copy()
        law = made["lr_Y"] ** (0.6 * power) * made["lr_Z"] ** (0.4 * power)
        return made.assign(time=first * law * (1 + 0.01 * made["seed"]))

    monkeypatch.setattr(rescaling, "transition_times_by_run", times)
    rows = [
        {"slower": s, "lr_Z": z / s, "lr_Y": y * z / s, "seed": seed}
        for s in (1, 100) for z in (0.5, 2) for y in (0.5, 2) for seed in (0, 1, 2)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def rescaled(*args, **kwargs) -> pd.DataFrame:
    claims = rescaling.rescaling_claims(transitions(*args, **kwargs), 0.9)
    return tabulated(claims).set_index(["quantity", "level"])


def test_the_sum_of_exponents_is_judged_where_steps_are_small(monkeypatch):
    found = rescaled(monkeypatch, -1.0)
    assert found.loc[(rescaling.SUM, 100), "value"] == pytest.approx(-1)
    assert found.loc[("lr_Y_exponent", 100), "value"] == pytest.approx(-0.6)
    assert found.loc[(rescaling.SUM, 100), ["kind", "verdict", "nearest"]].tolist() == [
        "analogue", "reproduced", 1,
    ]  # fmt: skip
    # At T = 300 a delay of 9 iterations is 3%; the mean of 1 / T has a cosh for each rate's spread.
    spread = np.cosh(0.6 * np.log(2)) * np.cosh(np.log(2))
    assert found.loc[(rescaling.SUM, 1), "tolerance"] == pytest.approx(9 / 300 * spread, rel=0.02)
    assert (found.loc[(rescaling.SUM, 100), "tolerance"]
            == pytest.approx(found.loc[(rescaling.SUM, 1), "tolerance"] / 100))  # fmt: skip
    assert rescaled(monkeypatch, -0.9).loc[(rescaling.SUM, 100), "verdict"] == "smaller"
    large = rescaled(monkeypatch, -1.0, first=30).loc[(rescaling.SUM, 1)]
    assert (large["verdict"], large["nearest"]) == ("", 0)


# Topic structure and decision lists.


def ratios_over_T() -> pd.DataFrame:
    """Ratios that go as tau^.5 at T = 10 and as tau at T = 40, by the selection that counts."""
    rows = [
        {"T": T, "tau": tau, "selection": "proportion", "seed": seed,
         "ratio": tau ** (c + 0.01 * (seed - 1)) if tau > 1 else 99.0}
        for T, c in ((10, 0.5), (40, 1.0)) for tau in (1, 2, 8) for seed in range(3)
    ]  # fmt: skip
    other = [row | {"selection": "independent", "ratio": 5.0} for row in rows]
    return pd.DataFrame(rows + other).assign(words="100 to 150 words")


def test_the_ratios_exponent_leaves_single_topics_and_the_other_selection_out():
    found = tabulated(ratio_exponents(ratios_over_T())).set_index("level")
    assert found["note"].str.endswith("documents of 100 to 150 words").all()
    assert found["value"].to_dict() == pytest.approx({2.5: 0.5, 10.0: 1.0})  # T / sqrt(2 x 8)
    assert found["verdict"].tolist() == ["smaller", "reproduced"]
    assert found["nearest"].tolist() == [0, 1]


def solved() -> pd.DataFrame:
    """Times that go as 1 / gamma, log(L)^-1.5 and M^.5, of two starts."""
    rows = [
        {"L": L, "n": n, "m": m, "delta": delta, "shortest": m, "gamma": uniform_gamma(L, n, m),
         "t_star": delta**2 * m**0.5 / uniform_gamma(L, n, m) / math.log(L) ** 1.5}
        for L in (32, 64, 256) for n in (4, 8) for m in (2, 3, 4) for delta in (1, 2)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def test_the_times_exponents_stand_beside_the_bounds_and_other_deltas_are_left_out():
    found = by_quantity(time_exponents(solved()))
    expected = {"exponent_of_gamma": -1, "exponent_of_log_L": -1.5, "exponent_of_M": 0.5}
    assert found["value"].to_dict() == pytest.approx(expected)
    assert found["verdict"].tolist() == ["reproduced", "larger", "smaller"]
    assert set(found["kind"]) == {"analogue"} and set(found["n"]) == {6}


def test_the_table_has_the_exponents_of_each_paper(monkeypatch):
    runs, ratios, times = transitions(monkeypatch), ratios_over_T(), solved()
    table = report.exponents(runs, ratios, times, momentum=0.9)
    alone = {
        "scan_snap": rescaling.rescaling_claims(runs, 0.9),
        "topic_structure": ratio_exponents(ratios),
        "decision_lists": time_exponents(times),
    }
    columns = ["claim", "quantity", "value", "low", "high", "tolerance", "verdict"]
    for paper, claims in alone.items():
        found = table.loc[table["paper"] == paper, columns].reset_index(drop=True)
        pd.testing.assert_frame_equal(found, tabulated(claims)[columns], check_dtype=False)
    assert set(table["paper"]) == {*alone}


# Theorem 1's worst case.


def test_the_flow_of_tokens_one_by_one_is_that_of_the_groups():
    """Uniform sequences and lists of one length: the reduced flow's t* and gamma."""
    exact = reduced.solve([reduced.Setting(12, 3, 2)]).t_star[0]
    case = worst_case.Case(lists_of_seed(12, 2, 0), np.ones(12))
    found = worst_case.measure([case], 3, reduced.STEP, 10_000).iloc[0]
    assert exact > 0 and found["t_star"] == pytest.approx(exact, rel=1e-6)
    assert found["gamma"] == pytest.approx(uniform_gamma(12, 3, 2))
    assert found["longest_list"] == 2 and found["perfect"]


def test_any_weights_and_lists_go_as_the_full_matrix_does():
    """Beside `full`, which has all of W at once and knows no patterns."""
    L, n, step = 6, 3, 0.1
    weights = np.array([5.0, 1, 0.4, 2, 0.7, 1])
    cases = [worst_case.Case(lists_of_seed(L, 3, seed, 1), weights) for seed in (0, 1)]
    found = worst_case.measure(cases, n, step, 50_000)
    c = theorem_1_scale(L, n)
    for case, t_star in zip(cases, found["t_star"], strict=True):
        source = full.AllSequences(case.lists, enumerate_sequences(L, n, weights))
        training = full.TrainingOfW(source, full.heun, c, step * n / c)
        while not training.perfect:
            training.advance()
        assert t_star > 0 and t_star == pytest.approx(float(training.crossing.max()), rel=1e-9)


def test_what_gave_up_counts_with_the_time_that_it_came_to():
    case = worst_case.Case(lists_of_seed(8, 2, 0), np.ones(8))
    found = worst_case.measure([case, case], 2, 0.1, 5)
    assert not found["perfect"].any()
    assert found["t_star"].tolist() == pytest.approx([5 * 0.1 * 2 / theorem_1_scale(8, 2)] * 2)


def test_the_figure_of_the_worst_case_has_what_was_found(searched):
    axis = figures.worst_case(searched).axes[0]
    at_random, found = (points.get_offsets()[:, 0] for points in axis.collections)
    assert at_random.tolist() == searched["at_random"].tolist()
    assert found.tolist() == searched["ratio"].tolist()
    still = [text.get_position()[1] for text in axis.texts]
    assert still == [place for place, ratio in enumerate(searched["ratio"]) if ratio == 0]
    assert (searched["ratio"] > 0).any() and still


def test_changes_stay_cases_and_a_climb_never_falls(searched):
    rng, case = np.random.default_rng(1), worst_case.Case(lists_of_seed(5, 3, 0), np.ones(5))
    kinds = set()
    for _ in range(60):
        new = worst_case.changed(rng, case, 3, 4.0)
        same = (new.lists.lists == case.lists.lists).all()
        kinds.add((bool(same), bool((new.weights == case.weights).all())))
        lengths = (new.lists.lists >= 0).sum(axis=1)
        assert lengths.min() >= 1 and lengths.max() <= 3
        for a, own in enumerate(new.lists.lists):
            told = own[: lengths[a]]
            assert told[-1] == a and len(set(told)) == len(told) and (told >= 0).all()
        assert new.weights.min() >= 0.25 and new.weights.max() <= 4
        case = new
    assert {(True, False), (False, True)} <= kinds
    uniform = [worst_case.changed(rng, case, 3, 1.0).weights for _ in range(9)]
    assert all((weights == case.weights).all() for weights in uniform)
    assert searched["tries"].tolist() == [8, 8]
    weighted = searched.iloc[1]
    # What is found is solved again with finer steps.
    assert weighted["ratio"] > 0.99 * weighted["at_random"] > 0


def test_the_worst_of_all_decides_and_a_time_above_the_bound_is_said(searched):
    def verdict(**changed) -> tuple[str, float]:
        table = worst_case.worst_case(searched.assign(**changed))
        row = table[(table["list_length"] == "all") & (table["published"] == 1)]
        return row["verdict"].item(), row["value"].item()

    assert verdict() == ("reproduced", searched["ratio"].max())
    assert verdict(ratio=[0.2, 1.5], perfect=[True, False]) == ("opposite", 1.5)
    assert verdict(ratio=[0.2, 0.5], perfect=[True, False]) == ("not reached", 0.5)
    assert len(worst_case.readable(worst_case.worst_case(searched))) == 3
