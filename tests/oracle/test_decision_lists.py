"""The code of decision lists beside plain loops, autograd, and another integrator."""

import numpy as np
import pytest
import torch

from onelayer.decision_lists import attention, data, model, theorem_1, theorem_2
from onelayer.decision_lists.theorem_1 import Setting
from onelayer.settings.decision_lists import Run, SmallStart
from tests.oracle import decision_lists as loops

CASES = [(6, 3, 1), (6, 3, 2), (7, 4, 3), (6, 6, 4), (7, 2, 2), (8, 4, "mixed")]  # L, n, m


def loss(W, V, queries):
    """Eq. (2), differentiable twice."""
    _, logits = model.forward(W, V, queries)
    surprise = logits.logsumexp(dim=1, keepdim=True) - logits.gather(1, queries.label)
    return (queries.weight * surprise).sum()


class Case:
    """One random problem, as arrays and as loops."""

    def __init__(self, L, n, m):
        self.rng = rng = np.random.default_rng([L, n])
        self.L, self.n = L, n
        self.lists = data.random_lists(rng, L, rng.integers(1, n + 1, L) if m == "mixed" else m)
        self.sequences = data.enumerate_sequences(L, n)
        self.loop_lists, self.permutation = loops.lists_of(self.lists)
        self.distribution = loops.subsets(L, n)
        self.queries = model.queries_of(self.lists, self.sequences)

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


def test_labels_are_those_of_the_first_list_token_present(case):
    assert [tuple(row) for row in case.sequences.tokens.tolist()] == list(case.distribution)
    places = case.lists.determining_places(case.sequences.tokens)
    for sequence, row in zip(case.distribution, places, strict=True):
        for query, place in zip(sequence, row, strict=True):
            assert sequence[place] == loops.determining_token(query, sequence, case.loop_lists)


def test_loss_for_w_and_v_agrees_with_loops_and_its_gradients_with_autograd(case):
    W, V = case.matrix().requires_grad_(), case.matrix(3.0).requires_grad_()
    value = loss(W, V, case.queries)
    assert value.item() == pytest.approx(case.loop_loss(W, V), rel=1e-10)
    gradients = torch.autograd.grad(value, [W, V])
    closed = model.evaluate(W.detach(), V.detach(), case.queries)
    assert closed.loss == pytest.approx(value.item(), rel=1e-12)
    for found, expected in zip((closed.grad_W, closed.grad_V), gradients, strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-10)


def test_label_accuracy_is_that_of_the_determining_token(case):
    W = case.matrix()
    expected = loops.strict_accuracy(W.tolist(), case.loop_lists, case.distribution)
    label = model.evaluate(W, case.scaled_permutation(9.0), case.queries).accuracy
    assert label == pytest.approx(expected, abs=1e-12)


def test_a_certificate_proves_every_sequence(case):
    W = case.matrix().numpy()
    for a in range(0, case.L, 2):  # half of the tokens in the right order
        rank = case.lists.rank[:, a]
        W[:, a] = np.where(rank == case.lists.lists.shape[1], W[:, a] - 10, -rank)
    found = (model.list_steps(case.lists, W).min(axis=1) > 0).tolist()
    assert all(found[::2])
    assert found == [loops.certified(W.tolist(), case.loop_lists, a) for a in range(case.L)]
    for sequence in case.distribution:
        for query in filter(found.__getitem__, sequence):
            assert loops.strictly_right(query, sequence, W.tolist(), case.loop_lists)


def test_gamma_agrees_with_enumeration(case):
    found = theorem_1.uniform_gamma(case.L, case.n, set(case.lists.lengths))
    assert found == pytest.approx(loops.gamma(case.loop_lists, case.distribution), rel=1e-10)


@pytest.mark.parametrize(("L", "n", "m"), [(7, 3, 2), (8, 4, 3), (9, 4, 4), (5, 4, 4)])
def test_the_reduced_flow_is_the_gradient_of_the_full_problem(L, n, m):
    case, setting = Case(L, n, m), Setting(L, n, m, delta=2.0)
    flow = theorem_1.reduced_flow([setting, Setting(12, 5, 5)])  # longer lists pad this one's
    scores = np.zeros((6, 2))
    scores[[*range(m), -1], 0] = case.rng.normal(size=m + 1)
    place = np.minimum(case.lists.rank, m)
    W = torch.from_numpy(scores[[*range(m), -1], 0][place])
    rate = flow.rate(scores)[[*range(m), -1], 0][place]
    V = case.scaled_permutation(theorem_1.scale(L, n, setting.delta))
    full = model.evaluate(W, V, case.queries)
    np.testing.assert_allclose(-full.grad_W, rate, rtol=1e-10, atol=1e-13)
    found = np.array(flow.loss_and_accuracy(scores))[:, 0]
    np.testing.assert_allclose(found, [full.loss, full.accuracy], rtol=1e-10)


def test_a_small_full_flow_is_that_of_eulers_method_on_the_loop_loss(monkeypatch):
    """One whole training: small steps along differences of the loss, no array in sight."""
    c = theorem_1.scale(8, 2, delta=40.0)  # the softmax is soft
    monkeypatch.setattr(theorem_1, "scale", lambda *_: c)
    run = Run(L=8, n=2, m=2, method="full", max_steps=20)
    found, trained, _, history = attention.train(run, seed=0)
    assert history["step"].iloc[-1] == 20
    lists, permutation = loops.lists_of(found)
    V = (c * found.matrix).tolist()
    distribution, W, h = loops.subsets(8, 2), [[0.0] * 8 for _ in range(8)], 1e-6
    for _ in range(20):
        base = loops.loss(W, V, lists, permutation, distribution)
        slopes = [[0.0] * 8 for _ in range(8)]
        for b, a in np.ndindex(8, 8):
            W[b][a] += h
            slopes[b][a] = (loops.loss(W, V, lists, permutation, distribution) - base) / h
            W[b][a] -= h
        W = (np.array(W) - theorem_1.STEP * 2 / c * np.array(slopes)).tolist()
    np.testing.assert_allclose(W, trained, atol=0.03 * trained.abs().max())


def test_adam_from_small_numbers_is_adam_on_autograds_gradients():
    start = SmallStart(L=6, n=3, m=2, optimiser="adam", eta=0.1, seeds=[0], steps=5)
    _, history = theorem_2.small_runs([start])
    lists = data.lists_of_seed(6, 2, 0)
    queries = model.queries_of(lists, data.enumerate_sequences(6, 3))
    rng = data.generator("decision lists, small", 6, 3, 2, 0, 0.01)
    W, V = (torch.from_numpy(x).requires_grad_() for x in rng.normal(0.0, 0.01, (2, 6, 6)))
    optimiser, losses = torch.optim.Adam([W, V], lr=0.1), []
    for _ in range(len(history)):
        optimiser.zero_grad()
        value = loss(W, V, queries)
        value.backward()
        losses.append(float(value.detach()))
        optimiser.step()
    np.testing.assert_allclose(history["loss"], losses, rtol=1e-10)


def test_lambda_max_is_the_largest_eigenvalue_of_the_dense_hessian():
    case = Case(5, 3, 2)
    for scale in (0.1, 3.0):
        W, V = case.matrix(scale), case.matrix(scale)

        def flat_loss(x):
            return loss(x[:25].view(5, 5), x[25:].view(5, 5), case.queries)

        point = torch.cat([W.reshape(-1), V.reshape(-1)])
        dense = torch.autograd.functional.hessian(flat_loss, point)
        vector = case.rng.standard_normal(50)
        product = model.hessian(W, V, case.queries)(vector)
        np.testing.assert_allclose(product, dense.numpy() @ vector, rtol=1e-9, atol=1e-9)
        found, along = theorem_2.largest_eigenvalue(W, V, case.queries, vector)
        assert found == pytest.approx(float(torch.linalg.eigvalsh(dense)[-1]), rel=1e-8)
        assert along @ dense.numpy() @ along == pytest.approx(found, rel=1e-8)


def test_queries_in_groups_add_up_to_all_of_them(monkeypatch):
    case = Case(7, 4, 3)
    W, V, vector = case.matrix(), case.matrix(3.0), case.rng.standard_normal(98)
    whole = model.evaluate(W, V, case.queries), model.hessian(W, V, case.queries)(vector)
    monkeypatch.setattr(model, "ROWS", 9)
    parts = model.evaluate(W, V, case.queries), model.hessian(W, V, case.queries)(vector)
    for name in ("loss", "accuracy", "grad_W", "grad_V"):
        found, expected = (np.asarray(getattr(side[0], name)) for side in (parts, whole))
        np.testing.assert_allclose(found, expected, atol=1e-12)
    np.testing.assert_allclose(parts[1], whole[1], atol=1e-10)


def test_curvature_on_the_way_is_that_of_the_dense_hessian():
    """The mean second derivative along a step, by quadrature; eigenvalues where it is looked."""
    case = Case(5, 3, 2)

    def hessian(x):
        flat = lambda x: loss(x[:25].view(5, 5), x[25:].view(5, 5), case.queries)  # noqa: E731
        return torch.autograd.functional.hessian(flat, x)

    start, vector = (case.matrix(0.1), case.matrix(2.0)), case.rng.standard_normal(50)
    expected = 0.0
    for steps in range(4):
        W, V = (matrix.clone() for matrix in start)
        trained = W, V, case.queries, torch.optim.SGD, 1e-2, steps
        _, _, curvature = theorem_2.train(*trained, watched=vector)
        x = torch.cat([W.reshape(-1), V.reshape(-1)])
        if steps in (1, 2):
            expected = max(expected, float(torch.linalg.eigvalsh(hessian(x))[-1]))
        assert curvature == pytest.approx(expected, rel=1e-5)
        here = model.evaluate(W, V, case.queries)
        g = torch.cat([here.grad_W.reshape(-1), here.grad_V.reshape(-1)])
        # L(x - eta g) has the second derivative g H g, weighted with 2 (1 - t) along the step.
        nodes, weights = np.polynomial.legendre.leggauss(8)
        along = [float(g @ hessian(x - 1e-2 * (t + 1) / 2 * g) @ g / (g @ g)) for t in nodes]
        expected = max(expected, float((weights * (1 - nodes) / 2) @ along))


@pytest.mark.parametrize("delta", [1.0, 0.5])
def test_the_counterexample_takes_longer_than_the_bound_at_delta_1_alone(delta):
    row = theorem_1.counterexample(delta)
    found, case = row["t_star_to_bound_ratio"], (theorem_1.LISTS, theorem_1.WEIGHTS, 3)
    gamma = loops.gamma(theorem_1.LISTS, loops.subsets(5, 3, theorem_1.WEIGHTS))
    assert row["gamma"] == pytest.approx(gamma, rel=1e-10)
    assert found == pytest.approx(loops.time_to_bound_ratio(*case, delta), rel=1e-3)
    assert (found > 1) == (delta == 1)
