"""Closed forms, integrator and generator of Makkuva et al. (2024) against plain computations."""

from collections.abc import Iterator

import numpy as np
import pytest
import torch

from onelayer.papers.local_to_global import basins, canonical
from onelayer.papers.local_to_global.basins import GLOBAL, LOCAL, SADDLE
from onelayer.papers.local_to_global.chain import Chain
from onelayer.papers.local_to_global.integrator import integrate
from onelayer.papers.local_to_global.theory import outcome_with_attention
from onelayer.papers.local_to_global.training import sequences
from tests.oracle import local_to_global as plain

CHAINS = [(0.1, 0.1), (0.2, 0.3), (0.9, 0.9), (0.5, 0.8)]
POINTS = [(1.1, 0.4), (-0.7, -1.3), (0.9, -0.2), (2.0, 1.0), (0.3, -2.2)]


@pytest.mark.parametrize(("p", "q"), [*CHAINS, (0.01, 0.95), (0.97, 0.02)])
def test_loss_is_the_minimum_over_the_bias(p, q):
    s = np.array([-9.0, -2.0, -0.3, 0.0, 0.4, 3.0, 11.0])
    expected = [plain.best_loss(value, p, q) for value in s]
    np.testing.assert_allclose(canonical.loss(s, Chain(p, q)), expected, rtol=1e-10)


@pytest.mark.parametrize(("p", "q"), [*CHAINS, (0.01, 0.95)])
def test_slope_and_curvature_are_the_derivatives_of_the_loss(p, q):
    chain, s, h = Chain(p, q), np.linspace(-6, 6, 25), 1e-4
    rise = canonical.loss(s + h, chain) - canonical.loss(s - h, chain)
    np.testing.assert_allclose(canonical.slope(s, chain), rise / (2 * h), atol=1e-8)
    bend = canonical.slope(s + h, chain) - canonical.slope(s - h, chain)
    np.testing.assert_allclose(canonical.curvature(s, chain), bend / (2 * h), atol=1e-8)


@pytest.mark.parametrize(("p", "q"), CHAINS)
@pytest.mark.parametrize("a", [None, -0.6, 0.8])
def test_the_flow_is_minus_the_gradient_of_the_loss(p, q, a):
    chain = Chain(p, q)
    for point in POINTS:
        theta = np.array(point if a is None else (*point, a))
        np.testing.assert_allclose(
            canonical.flow(theta, chain), plain.descent(theta, p, q), atol=2e-6
        )


@pytest.mark.parametrize(("p", "q"), CHAINS)
@pytest.mark.parametrize("a", [None, -0.6, 0.8])
def test_the_hessian_is_the_derivative_of_the_gradient(p, q, a):
    chain, h = Chain(p, q), 1e-5
    for point in POINTS:
        point = np.array(point if a is None else (*point, a))
        columns = [
            (canonical.flow(point - d, chain) - canonical.flow(point + d, chain)) / (2 * h)
            for d in np.eye(len(point)) * h
        ]
        found = canonical.hessian(point, chain)
        np.testing.assert_allclose(found, np.transpose(columns), rtol=1e-5, atol=1e-7)


def critical_points(chain: Chain, starts: np.ndarray) -> Iterator[np.ndarray]:
    """Those that Newton's method on |grad L| comes to."""
    for theta in starts:
        for _ in range(80):
            bend, rate = canonical.hessian(theta, chain), canonical.flow(theta, chain)
            if np.linalg.norm(rate) < 1e-12:
                break
            step = np.linalg.lstsq(bend, rate, rcond=1e-9)[0]
            theta = theta + step * min(1, 0.3 / max(np.linalg.norm(step), 1e-12))
        if np.linalg.norm(canonical.flow(theta, chain)) < 1e-12:
            yield theta


@pytest.mark.parametrize(("p", "q"), CHAINS)
def test_descent_from_anywhere_ends_in_the_two_sets_of_critical_points(p, q):
    """No critical point is found that theorem 1 does not name."""
    chain, found = Chain(p, q), 0
    for theta in critical_points(chain, np.random.default_rng(0).normal(0, 1.5, (200, 2))):
        if np.abs(theta).max() < 6:
            found += 1
            on_global = abs(canonical.logit_gap(*theta) - chain.s_star) < 1e-6
            assert on_global or abs(theta[0]) < 1e-5, theta
    assert found > 50


@pytest.mark.parametrize(("p", "q"), [CHAINS[1], CHAINS[3]])
def test_with_attention_there_are_three_sets_of_critical_points_and_no_more(p, q):
    chain, found = Chain(p, q), {GLOBAL: 0, LOCAL: 0, SADDLE: 0}
    for theta in critical_points(chain, np.random.default_rng(1).normal(0, 1.5, (90, 3))):
        found[int(outcome_with_attention(theta[:, None], chain)[0])] += 1
    assert min(found.values()) > 3


@pytest.mark.parametrize(("p", "q"), [CHAINS[0], CHAINS[3]])
def test_a_start_on_the_side_of_s_star_ends_where_the_line_of_steepest_ascent_meets_it(p, q):
    chain = Chain(p, q)
    start = np.random.default_rng(6).uniform(-1.2, 1.2, (3, 60))
    side = np.sign(canonical.logit_gap(*start)) == np.sign(chain.s_star)
    start = start[:, side][:, :6]
    ends = integrate(lambda x: canonical.flow(x, chain), torch.tensor(start), stop_below=1e-8)
    expected = [plain.ascend(one, chain.s_star) for one in start.T]
    np.testing.assert_allclose(ends.theta.numpy(), np.transpose(expected), atol=1e-6)


@pytest.mark.parametrize(("p", "q"), CHAINS)
@pytest.mark.parametrize("variables", [2, 3])
def test_every_trajectory_is_that_of_scipy(p, q, variables):
    chain = Chain(p, q)
    start = np.random.default_rng(variables).uniform(-1.5, 1.5, (variables, 12))
    ends = integrate(
        lambda x: canonical.flow(x, chain), torch.tensor(start), until=3.0, stop_below=0.0
    )
    for index in range(start.shape[1]):
        expected = plain.follow(lambda y: canonical.flow(y, chain), start[:, index], 3.0)
        np.testing.assert_allclose(ends.theta[:, index], expected, atol=1e-6)
    assert (ends.time == 3.0).all() and not ends.at_rest.any()


@pytest.mark.parametrize(("p", "q"), CHAINS)
def test_the_flow_ends_where_theory_says(p, q):
    """The acceptance numbers of the basins, on a coarser grid."""
    chain, axis = Chain(p, q), np.linspace(-3, 3, 50)
    e, w = (grid.ravel() for grid in np.meshgrid(axis, axis))
    start = torch.tensor(np.stack([e, w]))
    ends = integrate(lambda x: canonical.flow(x, chain), start, stop_below=1e-7)
    theta = ends.theta.numpy()
    label, expected = basins.basin(e, w, chain), basins.limit_points(e, w, chain)
    s = canonical.logit_gap(*theta)
    reached = np.where(abs(s - chain.s_star) < 1e-3, basins.GLOBAL, basins.LOCAL)
    assert ends.at_rest.all()
    assert (reached == label).mean() >= 0.999
    assert abs(canonical.energy(*theta) - canonical.energy(e, w)).max() <= 1e-4
    entropy = np.where(label == basins.GLOBAL, chain.bigram_entropy, chain.unigram_entropy)
    assert abs(canonical.loss(s, chain) - entropy).max() <= 1e-6
    assert abs(theta - expected).max() <= 1e-6


@pytest.mark.parametrize(("p", "q"), CHAINS)
def test_the_energy_with_attention_is_constant(p, q):
    chain = Chain(p, q)
    start = np.random.default_rng(5).uniform(-1, 1, (3, 200))
    ends = integrate(lambda x: canonical.flow(x, chain), torch.tensor(start))
    before, after = canonical.energy(*start), canonical.energy(*ends.theta.numpy())
    assert abs(after - before).max() <= 1e-5
    assert ends.at_rest.all()


@pytest.mark.parametrize(("p", "q"), CHAINS)
@pytest.mark.parametrize("sigma", [0.3, 1.0, 3.0])
def test_the_probability_of_the_global_basin_is_its_share_of_draws(p, q, sigma):
    chain = Chain(p, q)
    e, w = np.random.default_rng(3).normal(0, sigma, (2, 200_000))
    share = (basins.basin(e, w, chain) == basins.GLOBAL).mean()
    expected = basins.probability_global(sigma, chain)
    assert abs(share - expected) < 5 * np.sqrt(expected * (1 - expected) / len(e)) + 1e-9


@pytest.mark.parametrize(("p", "q"), [*CHAINS, (0.3, 0.7), (0.02, 0.03)])
def test_sequences_are_those_of_the_loop_over_time(p, q):
    u = torch.rand(3, 7, 60, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    drawn = sequences(u, Chain(p, q)).reshape(-1, 60)
    for row, numbers in zip(drawn, u.reshape(-1, 60).tolist(), strict=True):
        assert row.int().tolist() == plain.markov_loop(numbers, p, q)


@pytest.mark.parametrize(("p", "q"), CHAINS)
def test_sequences_have_the_transitions_of_the_chain(p, q):
    u = torch.rand(400, 1000, generator=torch.Generator().manual_seed(1))
    x = sequences(u, Chain(p, q))
    before, after = x[:, :-1], x[:, 1:]
    for symbol, chance in ((False, p), (True, 1 - q)):
        follows = after[before == symbol].double()
        bound = 5 * (chance * (1 - chance) / len(follows)) ** 0.5
        assert abs(follows.mean() - chance) < bound
    assert abs(x[:, 0].double().mean() - p / (p + q)) < 5 * (0.25 / 400) ** 0.5
