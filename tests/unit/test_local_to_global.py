"""Claims of Makkuva et al. (2024) that need no oracle, and what the library refuses."""

import math

import numpy as np
import pytest
import torch

from onelayer.papers.local_to_global import basins, canonical
from onelayer.papers.local_to_global.chain import Chain
from onelayer.papers.local_to_global.integrator import integrate
from onelayer.papers.local_to_global.simulation import attention_starts, shown_paths
from onelayer.papers.local_to_global.theory import (
    critical_points,
    critical_points_with_attention,
    outcome_with_attention,
)
from onelayer.settings.root import default_settings

LTG = default_settings().local_to_global

BELOW, ABOVE = Chain(0.2, 0.3), Chain(0.5, 0.8)
ENTROPIES = [
    (0.1, 0.1, 0.693147, 0.325083),
    (0.2, 0.3, 0.673012, 0.544587),
    (0.9, 0.9, 0.693147, 0.325083),
    (0.5, 0.8, 0.666278, 0.619015),
]


@pytest.mark.parametrize(("p", "q", "unigram", "bigram"), ENTROPIES)
def test_entropies_and_the_loss_at_the_critical_points(p, q, unigram, bigram):
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


@pytest.mark.parametrize("chain", [BELOW, ABOVE])
def test_e_0_is_a_minimum_on_one_side_of_the_saddle_and_a_maximum_on_the_other(chain):
    sign = 1 if chain.p + chain.q < 1 else -1
    for w, expected in ((-1.5, sign), (-0.3, -sign), (1.0, -sign)):
        curvature = canonical.hessian((0.0, w), chain)
        assert np.sign(curvature[0, 0]) == expected
        assert curvature[1, 1] == curvature[0, 1] == 0
    assert canonical.hessian((0.0, canonical.W_SADDLE), chain) == pytest.approx(np.zeros((2, 2)))
    assert canonical.energy(np.array(0.0), np.array(canonical.W_SADDLE)) == pytest.approx(
        canonical.E_SADDLE
    )


def test_a_small_gaussian_start_goes_to_the_global_minimum_below_1_and_to_the_local_above():
    for chain, small, large in ((BELOW, 1.0, 0.887), (ABOVE, 0.0, 0.381)):
        assert basins.probability_global(0.02, chain) == pytest.approx(small, abs=1e-12)
        assert basins.probability_global(1.0, chain) == pytest.approx(large, abs=1e-3)


@pytest.mark.parametrize("chain", [BELOW, ABOVE])
def test_e_0_stays_where_it_starts(chain):
    start = np.array([[0.0, 0.0, 0.0], [-2.0, 0.0, 1.5]])
    ends = integrate(lambda x: canonical.flow(x, chain), torch.tensor(start))
    assert ends.at_rest.all() and (ends.steps == 0).all()
    np.testing.assert_array_equal(ends.theta, start)
    assert (basins.basin(*start, chain) == basins.STAYS).all()
    np.testing.assert_array_equal(basins.limit_points(*start, chain), start)


@pytest.mark.parametrize("chain", [BELOW, ABOVE])
def test_w_0_stays_0_and_has_its_own_limit(chain):
    start = np.array([[0.5, -2.0], [0.0, 0.0]])
    ends = integrate(lambda x: canonical.flow(x, chain), torch.tensor(start), stop_below=1e-7)
    expected = math.sqrt(chain.s_star) if chain is BELOW else 0.0
    np.testing.assert_allclose(ends.theta[0], [expected, -expected], atol=1e-6)
    assert (ends.theta[1] == 0).all()
    kind = basins.GLOBAL if chain is BELOW else basins.LOCAL
    assert (basins.basin(*start, chain) == kind).all()
    np.testing.assert_allclose(basins.limit_points(*start, chain), ends.theta, atol=1e-6)
    assert np.isnan(canonical.energy(*start)).all()


@pytest.mark.parametrize("chain", [BELOW, ABOVE])
def test_the_separatrix_leads_to_the_saddle(chain):
    w = -1.4 if chain is BELOW else -0.3
    square = canonical.E_SADDLE + w * w - math.log(-w)
    e = math.sqrt(square)
    sides = [basins.basin(e * (1 + shift), w, chain) for shift in (-1e-9, 1e-9)]
    assert sides == [basins.LOCAL, basins.GLOBAL]
    near = basins.limit_points(np.array(e * (1 - 1e-9)), np.array(w), chain)
    assert near == pytest.approx([0, canonical.W_SADDLE], abs=1e-3)


def test_a_start_that_is_slow_but_leaves_is_not_taken_for_a_limit():
    start = torch.tensor([[1e-8], [0.5]], dtype=torch.float64)
    ends = integrate(lambda x: canonical.flow(x, BELOW), start, stop_below=1e-6)
    assert abs(canonical.logit_gap(*ends.theta) - BELOW.s_star) < 1e-5


def test_a_trajectory_is_the_same_alone_and_among_others():
    start = torch.rand(2, 30, dtype=torch.float64, generator=torch.Generator().manual_seed(0)) * 4
    together = integrate(lambda x: canonical.flow(x, ABOVE), start - 2)
    for index in (0, 13, 29):
        alone = integrate(lambda x: canonical.flow(x, ABOVE), start[:, index : index + 1] - 2)
        torch.testing.assert_close(alone.theta[:, 0], together.theta[:, index], rtol=0, atol=1e-12)


def test_a_trajectory_out_of_steps_is_not_at_rest():
    ends = integrate(lambda x: canonical.flow(x, BELOW), torch.ones(2, 1).double(), max_steps=3)
    assert ends.steps.item() == 3 and not ends.at_rest.item() and ends.time.item() > 0


@pytest.mark.parametrize("chain", [BELOW, ABOVE])
def test_critical_points_are_what_they_are_called(chain):
    for name, points in critical_points(chain).items():
        for point in points:
            assert np.linalg.norm(canonical.flow(point, chain)) < 1e-12
            least, most = np.linalg.eigvalsh(canonical.hessian(point, chain))
            # Along the curve of global minima and along e = 0 the loss is flat.
            flat = 0 if name == "saddle" else 1
            assert sum(abs(bend) < 1e-12 for bend in (least, most)) >= flat, name
            if name in ("global minimum", "local minimum"):
                assert least > -1e-12 and most > 1e-3
            if name == "local maximum":
                assert least < -1e-3 and most < 1e-12


@pytest.mark.parametrize("chain", [BELOW, ABOVE])
def test_critical_points_with_attention_are_what_they_are_called(chain):
    ends = {"global": basins.GLOBAL, "local": basins.LOCAL}
    for name, points in critical_points_with_attention(chain).items():
        theta = np.transpose(points)
        speed = np.linalg.norm(canonical.flow(theta, chain), axis=0)
        assert speed.max() < 1e-12, name
        on = {"saddle, e = 0": basins.LOCAL, "saddle, a e^2 = -1": basins.SADDLE}.get(name)
        expected = ends[name.split()[0]] if on is None else on
        assert set(outcome_with_attention(theta, chain)) == {expected}
        for point in points:
            bends = np.linalg.eigvalsh(canonical.hessian(point, chain))
            if name in ("global minimum", "local minimum"):
                assert bends[0] > -1e-12 and bends[-1] > 1e-3
            elif name == "local maximum":
                assert bends[0] < -1e-3 and bends[-1] < 1e-12
            elif name == "saddle, a e^2 = -1":
                assert bends[0] < -0.1 and bends[-1] > 0.1


def test_independent_symbols_flow_to_the_one_entropy_with_attention_and_without():
    settings = LTG.attention_flow.but(draws=20, independent=[0.3])
    found = attention_starts(settings, LTG.flow.model_copy(update={"chains": []}))
    assert found.groupby("model").size().to_dict() == {"(e, w)": 20, "(e, w, a)": 20}
    chain = Chain(0.3, 0.7)
    loss = canonical.loss(canonical.logit_gap(found["e"], found["w"], found["a"]), chain)
    assert chain.unigram_entropy == pytest.approx(chain.bigram_entropy, abs=1e-15)
    assert abs(loss - chain.bigram_entropy).max() < 1e-5
    # A shared start, whether there is an a or not.
    starts = [part[["e_0", "w_0"]].to_numpy() for _, part in found.groupby("model")]
    np.testing.assert_array_equal(*starts)


def test_a_shown_path_is_where_the_flow_is_at_each_of_its_times():
    settings = LTG.flow.but(
        chains=[{"p": chain.p, "q": chain.q} for chain in (BELOW, ABOVE)],
        sigmas=[0.1, 1.0],
        frames=3,
        trajectories=4,
    )
    found = shown_paths(settings)
    for side, chain in (("below", BELOW), ("above", ABOVE)):
        path = torch.from_numpy(found[f"plane_{side}"])
        for time, position in zip(found[f"time_{side}"], path, strict=True):
            ends = integrate(lambda x, c=chain: canonical.flow(x, c), path[0], until=time)
            torch.testing.assert_close(position, ends.theta, atol=1e-5, rtol=0)
