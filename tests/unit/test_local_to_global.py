"""Claims of Makkuva et al. (2024) on the canonical model that need no oracle, and refusals."""

import math
from pathlib import Path

import numpy as np
import pytest
import yaml

from onelayer.evidence.tables import tidy
from onelayer.local_to_global import basins, canonical
from onelayer.local_to_global.basins import POINTS, arrival
from onelayer.local_to_global.integrator import integrate
from onelayer.local_to_global.outcomes import by_chain
from onelayer.local_to_global.simulation import gaussian_starts, neighbours, shown_paths
from onelayer.settings.local_to_global import Chain, FlowSettings, TransformerSettings, TrapSettings
from tests.oracle import local_to_global as plain

BELOW, ABOVE = Chain(0.2, 0.3), Chain(0.5, 0.8)
CHAINS = [{"p": 0.2, "q": 0.3}, {"p": 0.5, "q": 0.8}]
RANK_ONE_OF_TWO = {"name": "x", "initialisation": "rank_one", "embedding_rows": 2}
FLOW = {"chains": CHAINS, "seed": 0, "points": 20, "sigmas": [0.1, 1.0], "draws": 20}
FLOW |= {"attention_sigmas": [0.1], "attention_draws": 20, "trajectories": 4, "frames": 3}


def flow(chain: Chain, start: np.ndarray, **options):
    return integrate(lambda x: canonical.flow(x, chain), start, **options)


@pytest.mark.parametrize(
    ("p", "q", "unigram", "bigram"),
    [
        (0.1, 0.1, 0.693147, 0.325083),
        (0.2, 0.3, 0.673012, 0.544587),
        (0.9, 0.9, 0.693147, 0.325083),
        (0.5, 0.8, 0.666278, 0.619015),
    ],
)
def test_the_loss_is_the_unigram_entropy_at_s_0_and_the_bigram_entropy_at_s_star(
    p, q, unigram, bigram
):
    chain = Chain(p, q)
    assert chain.unigram_entropy == pytest.approx(unigram, abs=5e-7)
    assert chain.bigram_entropy == pytest.approx(bigram, abs=5e-7)
    assert canonical.loss(np.array(0.0), chain) == pytest.approx(chain.unigram_entropy, abs=1e-14)
    s_star = np.array(chain.s_star)
    assert canonical.loss(s_star, chain) == pytest.approx(chain.bigram_entropy, abs=1e-14)
    assert abs(canonical.slope(s_star, chain)) < 1e-15
    at_zero = p * q * (p + q - 1) / (p + q) ** 2
    assert canonical.slope(np.array(0.0), chain) == pytest.approx(at_zero, abs=1e-15)


@pytest.mark.parametrize("chain", [BELOW, ABOVE])
def test_loss_and_slope_stay_finite_where_exp_does_not(chain):
    s = np.array([-1e6, -800.0, 800.0, 1e6])
    assert np.isfinite(canonical.slope(s, chain)).all()
    assert np.isfinite(canonical.loss(s, chain)).all()


def test_a_small_gaussian_start_goes_to_the_global_minimum_below_1_and_to_the_local_above():
    unit = np.random.default_rng(0).normal(size=(2, 200_000))
    for chain, small, large in ((BELOW, 1.0, 0.887), (ABOVE, 0.0, 0.381)):
        for sigma, expected in ((0.02, small), (1.0, large)):
            share = (basins.basin(*(sigma * unit), chain) == basins.GLOBAL).mean()
            assert share == pytest.approx(expected, abs=0 if sigma < 1 else 4e-3)


@pytest.mark.parametrize("chain", [BELOW, ABOVE])
def test_e_0_stays_where_it_starts(chain):
    start = np.array([[0.0, 0.0, 0.0], [-2.0, 0.0, 1.5]])
    ends = flow(chain, start)
    assert ends.at_rest.all() and (ends.steps == 0).all()
    np.testing.assert_array_equal(ends.theta, start)


@pytest.mark.parametrize("chain", [BELOW, ABOVE])
def test_the_separatrix_leads_to_the_saddle(chain):
    w = -1.4 if chain is BELOW else -0.3
    e = math.sqrt(canonical.E_SADDLE + w * w - math.log(-w))
    sides = [basins.basin(e * (1 + shift), w, chain) for shift in (-1e-9, 1e-9)]
    assert sides == [basins.LOCAL, basins.GLOBAL]
    near = basins.limit_points(np.array(e * (1 - 1e-9)), np.array(w), chain)
    assert near == pytest.approx([0, canonical.W_SADDLE], abs=1e-3)


def test_a_start_that_is_slow_but_leaves_is_not_taken_for_a_limit():
    ends = flow(BELOW, np.array([[1e-8], [0.5]]), stop_below=1e-6)
    assert abs(canonical.logit_gap(*ends.theta) - BELOW.s_star) < 1e-5


def test_a_trajectory_is_the_same_alone_and_among_others():
    start = np.random.default_rng(0).uniform(-2, 2, (2, 30))
    together = flow(ABOVE, start)
    for index in (0, 13, 29):
        alone = flow(ABOVE, start[:, index : index + 1])
        np.testing.assert_allclose(alone.theta[:, 0], together.theta[:, index], atol=1e-12)


def test_a_trajectory_out_of_steps_is_not_at_rest():
    ends = flow(BELOW, np.ones((2, 1)), max_steps=3)
    assert ends.steps.item() == 3 and not ends.at_rest.item() and ends.time.item() > 0


@pytest.mark.parametrize("chain", [BELOW, ABOVE])
@pytest.mark.parametrize("points_of", POINTS.values())
def test_critical_points_are_what_they_are_called(chain, points_of):
    for name, points in points_of(chain).items():
        assert np.linalg.norm(canonical.flow(np.transpose(points), chain), axis=0).max() < 1e-12
        for point in points:
            bends = np.linalg.eigvalsh(plain.hessian(point, chain))
            # Along the sets of minima and along e = 0 the loss is flat.
            if name in ("global minimum", "local minimum"):
                assert bends[0] > -1e-8 and bends[-1] > 1e-3
            elif name == "local maximum":
                assert bends[0] < -1e-3 and bends[-1] < 1e-8
            elif name == "saddle, a e^2 = -1":
                assert bends[0] < -0.1 and bends[-1] > 0.1
                reached = arrival(point[:, None], chain)
                assert reached.tolist() == [basins.SADDLE]
            else:
                assert bends == pytest.approx(np.zeros(len(point)), abs=1e-8)


def test_the_flow_returns_to_minima_and_leaves_maxima_and_new_saddles():
    found = neighbours(FlowSettings(**FLOW)).set_index("point")
    share = found["back"] / found["starts"]
    assert (share[["global minimum", "local minimum"]] == 1).all()
    assert (share[["local maximum", "saddle, a e^2 = -1"]] == 0).all()
    assert share[["saddle", "saddle, e = 0"]].between(0.2, 0.5).all()


def test_every_gaussian_start_is_kept_beside_its_own_end():
    """Every scale multiplies the same draws; each flow ends where `basin` says of its start."""
    found = gaussian_starts(FlowSettings(**FLOW))
    found = found[found["model"] == "(e, w)"]
    small, large = (found[found["sigma"] == sigma] for sigma in (0.1, 1.0))
    names = ["e_0", "w_0"]
    np.testing.assert_allclose(10 * small[names].to_numpy(), large[names].to_numpy())
    for (p, q), part in found.groupby(["p", "q"]):
        start, end = (part[names].to_numpy().T for names in (["e_0", "w_0"], ["e", "w"]))
        expected = basins.basin(*start, Chain(p, q))
        assert (arrival(end, Chain(p, q)) == expected).all() and len(set(expected)) == 2
        assert abs(end - basins.limit_points(*start, Chain(p, q))).max() < 1e-6


def test_a_shown_path_is_where_the_flow_is_at_each_of_its_times():
    found = shown_paths(FlowSettings(**FLOW))
    for side, chain in (("below", BELOW), ("above", ABOVE)):
        path = found[f"plane_{side}"]
        assert path.shape == (4, 2, 4)
        first = flow(chain, path[0], until=0.01)
        np.testing.assert_allclose(path[1], first.theta, atol=1e-6)
        loss = canonical.loss(canonical.logit_gap(*path.transpose(1, 0, 2)), chain)
        assert (np.diff(loss, axis=0) < 1e-9).all()


def test_a_table_for_readers_has_every_row_beside_its_interval_and_what_is_published():
    rows = [
        {"p": 0.9, "q": 0.9, "start": "grid", "value": 1.0, "published": 1.0},
        {"p": 0.2, "q": 0.3, "start": "grid", "value": 0.25, "low": 0.125, "high": 1.0},
        {"value": 2.5e-8, "published": 0.0},
        {"p": 0.2, "q": 0.3, "start": "normal"},
    ]
    found = by_chain(
        tidy([{"quantity": "error"} | row for row in rows], ["p", "q", "start"]), ["start"]
    )
    assert list(found) == [
        "start",
        "quantity",
        "p = 0.9, q = 0.9",
        "p = 0.2, q = 0.3",
        "all chains",
    ]
    assert found.to_numpy()[:, [0, 2, 3, 4]].tolist() == [
        ["grid", "1 (1)", "0.25 [0.125, 1]", "–"],
        ["all", "–", "–", "2.5e-08 (0)"],
        ["normal", "–", "–", "–"],
    ]


def config(block: str) -> dict:
    root = Path(__file__).resolve().parents[2]
    return yaml.safe_load((root / "config.yaml").read_text())["local_to_global"][block]


@pytest.mark.parametrize(
    ("block", "model", "change", "said"),
    [
        ("flow", FlowSettings, {"chains": [{"p": 0.3, "q": 0.7}]}, "p \\+ q = 1 makes the symbols"),
        ("flow", FlowSettings, {"chains": [*CHAINS, CHAINS[0]]}, "0.2 0.3 is given twice"),
        ("flow", FlowSettings, {"chains": [CHAINS[0], {"p": 0.1, "q": 0.1}]}, "at least one with"),
        ("trap", TrapSettings, {"chains": [CHAINS[0]]}, r"p = 0.2, q = 0.3: p \+ q must exceed 1"),
        ("transformer", TransformerSettings, {"variants": [RANK_ONE_OF_TWO]}, "must be 1, found 2"),
        ("trap", TrapSettings, {"variants": [{"name": "paper's start"}]}, "is trained anyway"),
        ("trap", TrapSettings, {"variants": [{"name": "x", "embedding_rows": 2}]}, "must be 1"),
        ("trap", TrapSettings, {"variants": [{"name": "x", "rate": 2}]}, "unknown key 'rate'"),
    ],
)
def test_settings_that_make_no_experiment_are_refused(block, model, change, said):
    with pytest.raises(ValueError, match=said):
        model(**(config(block) | change))
