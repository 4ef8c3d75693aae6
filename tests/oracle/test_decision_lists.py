"""The decision-list code agrees with the plain loops of decision_lists and with autograd."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from onelayer.papers.decision_lists import constants, data, full, joint, model, reduced
from onelayer.papers.decision_lists.reduced import Setting
from tests.oracle import decision_lists as loops

# L, n, m, Zipf exponent (None: uniform)
CASES = [(6, 3, 1, None), (6, 3, 2, None), (7, 4, 3, None), (7, 3, 3, 1.0), (6, 6, 4, None)]
CASES += [(8, 4, "mixed", 0.7), (7, 2, 2, 1.5)]


class Case:
    """One random problem, as arrays and as loops."""

    def __init__(self, L, n, m, exponent, seed=0):
        self.rng = rng = np.random.default_rng([seed, L, n])
        self.L, self.n = L, n
        self.lists = data.random_lists(rng, L, rng.integers(1, n + 1, L) if m == "mixed" else m)
        self.weights = None if exponent is None else data.zipf_weights(L, exponent)
        self.sequences = data.enumerate_sequences(L, n, self.weights)
        self.loop_lists, self.permutation = loops.lists_of(self.lists)
        self.distribution = loops.subsets(L, n, self.weights)
        self.batch = model.batch_of(self.lists, self.sequences)
        self.rows = model.rows_of(self.lists, self.sequences)

    def matrix(self, scale=1.0):
        return torch.from_numpy(self.rng.normal(0.0, scale, (self.L, self.L)))

    def scaled_permutation(self, c):
        return torch.from_numpy(c * self.lists.matrix)

    def loop_loss(self, W, V):
        return loops.loss(
            W.tolist(), V.tolist(), self.loop_lists, self.permutation, self.distribution
        )


@pytest.fixture(params=CASES, ids=str)
def case(request):
    return Case(*request.param)


def test_probabilities_and_labels_agree(case):
    assert [tuple(row) for row in case.sequences.tokens.tolist()] == list(case.distribution)
    np.testing.assert_allclose(
        case.sequences.probability, list(case.distribution.values()), rtol=1e-12
    )
    places = case.lists.determining_places(case.sequences.tokens)
    for sequence, row in zip(case.distribution, places, strict=True):
        for query, place in zip(sequence, row, strict=True):
            expected = loops.determining_token(query, sequence, case.loop_lists)
            assert sequence[place] == expected


@pytest.mark.parametrize("c", [0.5, 7.0, 60.0])
def test_loss_for_w_agrees_with_loops_over_all_outputs(case, c):
    W = case.matrix()
    expected = case.loop_loss(W, case.scaled_permutation(c))
    assert float(model.loss_w(W, c, case.batch)) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("c", [0.5, 7.0, 60.0])
def test_gradient_for_w_agrees_with_autograd(case, c):
    W = case.matrix().requires_grad_()
    V = case.scaled_permutation(c)
    (expected,) = torch.autograd.grad(model.loss(W, V, case.rows), W)
    closed = model.gradient_w(W.detach(), c, case.batch)
    torch.testing.assert_close(closed, expected, rtol=1e-10, atol=1e-10)


def test_gradients_for_w_k_and_w_q_agree_with_autograd():
    """And along the flow W_K W_K^T - W_Q W_Q^T stays what it was."""
    case = Case(7, 4, 3, None)
    start = case.rng.normal(0.0, 0.5, (2, 7, 7))
    source = full.AllSequences(case.lists, case.sequences)
    training = full.FactoredTraining(source, full.heun, 3.0, 0.01, start)
    factors = torch.from_numpy(start).requires_grad_()
    model.loss_w(factors[0].T @ factors[1], 3.0, case.batch).backward()
    found = training.gradient_of_factors(torch.from_numpy(start))
    np.testing.assert_allclose(found, factors.grad, atol=1e-14)

    def balance(factors):
        return factors[0] @ factors[0].T - factors[1] @ factors[1].T

    for _ in range(50):
        training.advance()
    moved = (training.factors - torch.from_numpy(start)).abs().max()
    assert (balance(training.factors) - balance(torch.from_numpy(start))).abs().max() < 1e-4 * moved


def test_loss_for_w_and_v_agrees_with_loops_in_every_run(case):
    W = torch.stack([case.matrix() for _ in range(3)])
    V = torch.stack([case.matrix(3.0) for _ in range(3)])
    expected = [case.loop_loss(*run) for run in zip(W, V, strict=True)]
    np.testing.assert_allclose(model.loss(W, V, case.rows), expected, rtol=1e-10)
    np.testing.assert_allclose(model.evaluate(W, V, case.rows).loss, expected, rtol=1e-10)


def test_gradients_for_w_and_v_agree_with_autograd_in_every_run(case):
    W = torch.stack([case.matrix() for _ in range(3)]).requires_grad_()
    V = torch.stack([case.matrix(3.0) for _ in range(3)]).requires_grad_()
    expected = torch.autograd.grad(model.loss(W, V, case.rows).sum(), [W, V])
    closed = model.evaluate(W.detach(), V.detach(), case.rows)
    torch.testing.assert_close(closed.W, expected[0], rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(closed.V, expected[1], rtol=1e-10, atol=1e-10)


def test_gradient_agrees_with_differences_of_the_loop_loss():
    case = Case(6, 3, 2, None)
    W, V, h = case.matrix(), case.matrix(2.0), 1e-5
    closed = model.evaluate(W, V, case.rows)
    for parameter, gradient in ((W, closed.W), (V, closed.V)):
        for place in ((0, 1), (3, 3), (5, 2)):
            values = []
            for sign in (1, -1):
                parameter[place] += sign * h
                values.append(case.loop_loss(W, V))
                parameter[place] -= sign * h
            slope = (values[0] - values[1]) / (2 * h)
            assert float(gradient[place]) == pytest.approx(slope, rel=1e-6, abs=1e-9)


def test_strict_accuracy_agrees_and_is_the_label_accuracy(case):
    W = case.matrix()
    expected = loops.strict_accuracy(W.tolist(), case.loop_lists, case.distribution)
    assert model.strict_accuracy(W, case.batch) == pytest.approx(expected, abs=1e-12)
    label = model.evaluate(W, case.scaled_permutation(9.0), case.rows).accuracy
    assert float(label) == pytest.approx(expected, abs=1e-12)


def test_certificate_agrees_and_proves_every_sequence(case):
    W = case.matrix().numpy()
    for a in range(0, case.L, 2):  # half of the tokens in the right order
        rank = case.lists.rank[:, a]
        W[:, a] = np.where(rank == case.lists.lists.shape[1], W[:, a] - 10, -rank)
    found = (model.Columns(case.lists).margins(torch.from_numpy(W)) > 0).tolist()
    expected = [loops.certified(W.tolist(), case.loop_lists, a) for a in range(case.L)]
    assert found == expected
    assert all(found[::2])
    for sequence in case.distribution:
        for query in sequence:
            if found[query]:
                assert loops.strictly_right(query, sequence, W.tolist(), case.loop_lists)


@pytest.mark.parametrize("m", [2, 3, 4])
def test_certificate_is_also_necessary_for_every_sequence(m):
    case = Case(9, 4, m, None)
    for seed in range(200):
        W = np.random.default_rng(seed).normal(0.0, 0.5, (9, 9))
        W[case.lists.lists, np.arange(9)[:, None]] += np.arange(m, 0, -1)
        right = [
            all(
                loops.strictly_right(a, sequence, W.tolist(), case.loop_lists)
                for sequence in case.distribution
                if a in sequence
            )
            for a in (0, 1)
        ]
        margins = model.Columns(case.lists).margins(torch.from_numpy(W))
        assert (margins > 0)[:2].tolist() == right


def test_gamma_agrees_with_enumeration(case):
    expected = loops.gamma(case.loop_lists, case.distribution)
    assert constants.gamma(case.lists, case.n, case.weights) == pytest.approx(expected, rel=1e-10)
    if case.weights is None:
        m = case.lists.lists.shape[1]
        assert constants.uniform_gamma(case.L, case.n, m) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize(("L", "n", "m"), [(6, 3, 1), (7, 4, 3), (9, 4, 4), (6, 6, 4), (5, 4, 4)])
def test_pattern_probabilities_agree_with_enumeration(L, n, m):
    case = Case(L, n, m, None)
    other = Setting(L + 3, n, min(m + 1, n))  # a longer list in the batch pads this one
    patterns = reduced.presence_patterns([Setting(L, n, m), other])
    found = {}
    for count, probability in zip(
        patterns.count[..., 0].T, patterns.probability[:, 0], strict=True
    ):
        if probability > 0:
            assert count.sum() == n
            found[tuple(np.flatnonzero(count[:-1]).tolist())] = probability
    expected = loops.pattern_probabilities(case.loop_lists, 2, case.distribution)
    assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("L", "n", "m"), [(7, 3, 2), (8, 4, 3), (9, 4, 4), (5, 4, 4)])
def test_reduced_rate_is_the_full_gradient(L, n, m):
    case = Case(L, n, m, None)
    setting = Setting(L, n, m, delta=2.0)
    flow = reduced._Flow(reduced.presence_patterns([setting, Setting(12, 5, 5)]))
    scores = np.zeros((6, 2))
    scores[:m, 0], scores[-1, 0] = case.rng.normal(size=m), case.rng.normal()
    slots = np.append(scores[:m, 0], scores[-1, 0])
    W = torch.from_numpy(slots[np.minimum(case.lists.rank, m)])
    rate = flow.rate(scores)[:, 0]
    expected = np.append(rate[:m], rate[-1])[np.minimum(case.lists.rank, m)]
    gradient = model.gradient_w(W, setting.c, case.batch)
    np.testing.assert_allclose(-gradient, expected, rtol=1e-10, atol=1e-13)
    assert flow.loss(scores)[0] == pytest.approx(
        float(model.loss_w(W, setting.c, case.batch)), rel=1e-10
    )
    accuracy = model.strict_accuracy(W, case.batch)
    assert flow.accuracy(scores)[0] == pytest.approx(accuracy, abs=1e-12)


def test_the_largest_eigenvalue_is_not_the_most_negative_one(monkeypatch):
    own = torch.tensor([-3.0, 1.0, 0.5, -2.0], dtype=torch.float64)
    monkeypatch.setattr(joint, "_hessian_product", lambda *_: lambda vector: own * vector)
    W = V = torch.zeros(2, 1)
    found = joint.largest_eigenvalue(np.random.default_rng(0), W, V, None)
    assert found == pytest.approx(1.0, rel=1e-6)


def test_largest_eigenvalue_agrees_with_the_dense_hessian():
    case = Case(5, 3, 2, None)
    for scale in (0.1, 3.0):
        W, V = case.matrix(scale), case.matrix(scale)

        def flat_loss(x):
            return model.loss(x[:25].view(5, 5), x[25:].view(5, 5), case.rows)

        point = torch.cat([W.reshape(-1), V.reshape(-1)])
        dense = torch.autograd.functional.hessian(flat_loss, point)
        found = joint.largest_eigenvalue(case.rng, W, V, case.rows)
        assert found == pytest.approx(float(torch.linalg.eigvalsh(dense)[-1]), rel=1e-8)
