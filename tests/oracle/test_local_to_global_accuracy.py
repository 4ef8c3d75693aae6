"""What an integrated flow may err by, and what a random matrix has, against plain computations."""

import math

import numpy as np
import pytest

from onelayer.papers.local_to_global import canonical, theory
from onelayer.papers.local_to_global.chain import Chain
from onelayer.papers.local_to_global.training_tables import random_share
from tests.oracle.local_to_global import best_loss, steepest


@pytest.mark.parametrize("attention", [False, True])
def test_the_energy_moves_by_no_more_than_every_step_moved_each_variable(attention):
    """Slopes by differences: the worst point of the box is its corner, where the bound is met."""
    reach, h = 3.0, 1e-6
    random = np.random.default_rng(0)
    points = [np.full(3, reach), *random.uniform(-reach, reach, (200, 3))]
    found = []
    for point in points:
        point = point * [1, 1, attention]
        slopes = [
            (canonical.energy(*(point * (1 + h * unit))) - canonical.energy(*point)) / h
            for unit in np.eye(3)
        ]
        found.append(sum(abs(slope) for slope in slopes))
    bound = theory.energy_drift(1e-8, reach, attention) / (theory.MAX_STEPS * 1e-8)
    assert found[0] == pytest.approx(bound, rel=1e-4)
    assert max(found) <= bound * (1 + 1e-4)


@pytest.mark.parametrize("attention", [False, True])
@pytest.mark.parametrize("chain", [Chain(0.5, 0.5), Chain(0.3, 0.7)])
def test_a_flow_cut_off_before_s_is_0_errs_by_no_more_than_its_steepest_end(attention, chain):
    """Ends on s = 0, moved by the way left along grad s; the loss from its definition."""
    reach, left = 4.0, 1e-5
    bound = theory.slow_loss_error(chain, left, reach, attention)
    random = np.random.default_rng(1)
    ends = [np.array([reach, canonical.W_SADDLE, reach * attention])]
    for e, w, a in random.uniform(-reach, reach, (100, 3)):
        ends.append(np.array([e, canonical.W_SADDLE, a * attention]))
        if attention and abs(e) > 0.5:
            ends.append(np.array([e, w, -1 / e**2]))
    if attention:
        ends.append(np.array([reach, reach, -1 / reach**2]))
    errors = []
    for end in ends:
        gap = left * np.linalg.norm(steepest(end[: 2 + attention]))
        errors.append(best_loss(gap, chain.p, chain.q) - chain.unigram_entropy)
    assert max(errors) <= 1.05 * bound + 1e-12
    assert max(errors) > 0.8 * bound


def test_the_limit_errs_by_the_way_left_and_by_every_step():
    assert theory.limit_error(1e-8, 1e-7, 3) == pytest.approx(1e-7 + 5000 * 3e-8)


def test_a_random_matrix_has_the_share_that_theory_knows():
    """Of 2 x 2 the share is 1/2 + sqrt(u (1 - u)) with u uniform: pi / 8 above a half."""
    assert random_share(2, 2) == pytest.approx(0.5 + math.pi / 8, abs=0.003)
    random, shares = np.random.default_rng(2), []
    for _ in range(2000):
        W = random.normal(size=(32, 8))
        values = np.linalg.eigvalsh(W.T @ W)
        shares.append(values[-1] / np.trace(W.T @ W))
    assert random_share(32, 8) == pytest.approx(np.mean(shares), abs=0.003)
