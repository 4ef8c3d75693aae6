"""Closed forms, integrator, generator and transformer against plain computations."""

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
import torch

from onelayer.ensemble import RunRandom
from onelayer.local_to_global import basins, canonical, initialisation, training, transformer
from onelayer.local_to_global.basins import GLOBAL, LOCAL, SADDLE, arrival
from onelayer.local_to_global.integrator import integrate
from onelayer.local_to_global.training import sequences
from onelayer.local_to_global.transformer import attention
from onelayer.local_to_global.trap import _at_zero, curvature
from onelayer.settings.local_to_global import Chain, EnsembleSettings, TrainingSettings, Variant
from tests.oracle import local_to_global as plain

USUAL = {"batch": 16, "d": 8, "optimizer": "adamw", "lr": 2e-3, "warm_up": 0.02}
USUAL |= {"weight_decay": 0.0, "layer_norm": False, "embedding_rows": 1}
CHAINS = [(0.1, 0.1), (0.2, 0.3), (0.9, 0.9), (0.5, 0.8)]
POINTS = [(1.1, 0.4), (-0.7, -1.3), (0.9, -0.2), (2.0, 1.0), (0.3, -2.2)]


@pytest.mark.parametrize(("p", "q"), [*CHAINS, (0.01, 0.95), (0.97, 0.02)])
def test_loss_is_the_minimum_over_the_bias(p, q):
    s = np.array([-9.0, -2.0, -0.3, 0.0, 0.4, 3.0, 11.0])
    expected = [plain.best_loss(value, p, q) for value in s]
    np.testing.assert_allclose(canonical.loss(s, Chain(p, q)), expected, rtol=1e-10)


@pytest.mark.parametrize(("p", "q"), [*CHAINS, (0.01, 0.95)])
def test_the_slope_is_the_derivative_of_the_loss(p, q):
    chain, s, h = Chain(p, q), np.linspace(-6, 6, 25), 1e-4
    rise = canonical.loss(s + h, chain) - canonical.loss(s - h, chain)
    np.testing.assert_allclose(canonical.slope(s, chain), rise / (2 * h), atol=1e-8)


@pytest.mark.parametrize(("p", "q"), CHAINS)
@pytest.mark.parametrize("a", [None, -0.6, 0.8])
def test_the_flow_is_minus_the_gradient_of_the_loss(p, q, a):
    chain = Chain(p, q)
    for point in POINTS:
        theta = np.array(point if a is None else (*point, a))
        np.testing.assert_allclose(
            canonical.flow(theta, chain), plain.descent(theta, p, q), atol=2e-6
        )


@pytest.mark.parametrize("a", [None, -0.6, 0.8])
def test_the_gradient_of_the_logit_gap_is_its_difference_quotient(a):
    for point in POINTS:
        theta = np.array(point if a is None else (*point, a))
        steps = np.eye(len(theta)) * 1e-6
        rise = [plain.logit_gap(*(theta + d)) - plain.logit_gap(*(theta - d)) for d in steps]
        np.testing.assert_allclose(canonical.gap_gradient(theta), np.array(rise) / 2e-6, rtol=1e-6)


def critical_points(chain: Chain, starts: np.ndarray) -> Iterator[np.ndarray]:
    """Those that Newton's method on |grad L| comes to."""
    for theta in starts:
        for _ in range(80):
            bend, rate = plain.hessian(theta, chain), canonical.flow(theta, chain)
            if np.linalg.norm(rate) < 1e-12:
                break
            step = np.linalg.lstsq(bend, rate, rcond=1e-9)[0]
            theta = theta + step * min(1, 0.3 / max(np.linalg.norm(step), 1e-12))
        if np.linalg.norm(canonical.flow(theta, chain)) < 1e-12:
            yield theta


@pytest.mark.parametrize(("p", "q"), [CHAINS[1], CHAINS[3]])
def test_with_attention_there_are_three_sets_of_critical_points_and_no_more(p, q):
    chain, found = Chain(p, q), {GLOBAL: 0, LOCAL: 0, SADDLE: 0}
    for theta in critical_points(chain, np.random.default_rng(1).normal(0, 1.5, (90, 3))):
        found[int(arrival(theta[:, None], chain)[0])] += 1
    assert min(found.values()) > 3


@pytest.mark.parametrize(("p", "q"), CHAINS)
@pytest.mark.parametrize("variables", [2, 3])
def test_every_trajectory_is_that_of_scipy(p, q, variables):
    chain = Chain(p, q)
    start = np.random.default_rng(variables).uniform(-1.5, 1.5, (variables, 12))
    ends = integrate(lambda x: canonical.flow(x, chain), start, until=3.0, stop_below=0.0)
    for index in range(start.shape[1]):
        expected = plain.follow(lambda y: canonical.flow(y, chain), start[:, index], 3.0)
        np.testing.assert_allclose(ends.theta[:, index], expected, atol=1e-6)
    assert (ends.time == 3.0).all() and not ends.at_rest.any()


@pytest.mark.parametrize(("p", "q"), CHAINS)
def test_the_flow_ends_where_theory_says(p, q):
    """The acceptance numbers of the basins, on a coarser grid."""
    chain, axis = Chain(p, q), np.linspace(-3, 3, 50)
    e, w = (grid.ravel() for grid in np.meshgrid(axis, axis))
    start = np.stack([e, w])
    ends = integrate(lambda x: canonical.flow(x, chain), start, stop_below=1e-7)
    theta = ends.theta
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
    ends = integrate(lambda x: canonical.flow(x, chain), start)
    before, after = canonical.energy(*start), canonical.energy(*ends.theta)
    assert abs(after - before).max() <= 1e-5
    assert ends.at_rest.all()


@pytest.mark.parametrize(("p", "q"), [*CHAINS, (0.3, 0.69), (0.02, 0.03)])
def test_sequences_are_those_of_the_loop_over_time(p, q):
    u = torch.rand(3, 7, 60, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    drawn = sequences(u, Chain(p, q)).reshape(-1, 60)
    for row, numbers in zip(drawn, u.reshape(-1, 60).tolist(), strict=True):
        assert row.int().tolist() == plain.markov_loop(numbers, p, q)


def random_parameters(runs: int, T: int, d: int) -> dict[str, torch.Tensor]:
    start, random = initialisation.standard(RunRandom(range(runs)), T, d), RunRandom(range(runs))
    return {
        name: 0.6 * random.normal(*tensor.shape[1:], use=name, dtype=torch.float64)
        for name, tensor in start.items()
    }


def one_run(parameters: dict[str, torch.Tensor], run: int) -> dict[str, np.ndarray]:
    return {name: tensor[run].numpy() for name, tensor in parameters.items()}


@pytest.mark.parametrize("d", [3, 8])
def test_logits_are_those_of_the_loop_over_positions(d):
    parameters = random_parameters(2, 9, d)
    x = torch.rand(2, 4, 9, generator=torch.Generator().manual_seed(d)) < 0.5
    found = transformer.logits(parameters, x)
    for run, row in itertools.product(range(2), range(4)):
        expected = plain.transformer_logits(one_run(parameters, run), x[run, row].int().tolist())
        np.testing.assert_allclose(found[run, row], expected, atol=1e-10)


def test_the_loss_is_the_mean_surprise_of_the_next_symbol():
    parameters = random_parameters(2, 6, 4)
    x = torch.rand(2, 5, 7, generator=torch.Generator().manual_seed(0)) < 0.4
    for run, loss in enumerate(transformer.losses(parameters, x)):
        surprise = []
        for row in x[run].int().tolist():
            logits = plain.transformer_logits(one_run(parameters, run), row[:-1])
            for logit, target in zip(logits, row[1:], strict=True):
                surprise.append(np.logaddexp(0, -logit if target else logit))
        assert loss.item() == pytest.approx(np.mean(surprise), abs=1e-10)


def test_population_losses_of_unigram_and_bigram_model_are_the_entropies():
    """A transformer that passes nothing on but b is the unigram model, one with e a bigram."""
    chain = Chain(0.5, 0.8)
    parameters = {n: torch.zeros_like(t) for n, t in random_parameters(2, 20, 4).items()}
    logit = [np.log(chain.pi1 / chain.pi0), np.log(chain.p / (1 - chain.p))]
    parameters["b"] = torch.tensor(logit, dtype=torch.float64)
    # s* < 0 needs the MLP: e = 1, W_2 W_1 e = -(1 - s*) e on the first unit.
    parameters["e"][1, 0] = 1.0
    parameters["W_1"][1, 0, 0] = 1.0
    parameters["W_2"][1, 0, 0] = chain.s_star - 1
    x = torch.rand(2, 3, 20, generator=torch.Generator().manual_seed(0)) < 0.4
    unigram, bigram = transformer.population_losses(parameters, x, chain).tolist()
    assert unigram == pytest.approx(chain.unigram_entropy, abs=1e-12)
    assert bigram == pytest.approx(chain.bigram_entropy, abs=1e-12)


def test_two_embedding_rows_are_one_vector_and_an_offset():
    parameters = random_parameters(1, 8, 4)
    rows = torch.rand(1, 2, 4, dtype=torch.float64)
    two = {n: t for n, t in parameters.items() if n != "e"} | {"rows": rows}
    one = parameters | {"e": rows[:, 1] - rows[:, 0], "wpe": parameters["wpe"] + rows[:, :1]}
    x = torch.rand(1, 3, 8) < 0.5
    torch.testing.assert_close(transformer.logits(two, x), transformer.logits(one, x))


def test_top_share_is_that_of_the_singular_values():
    W = np.random.default_rng(0).normal(size=(3, 7, 4))
    expected = [s[0] ** 2 / (s**2).sum() for s in np.linalg.svd(W, compute_uv=False)]
    np.testing.assert_allclose(training.top_share(torch.from_numpy(W)), expected)


@pytest.mark.parametrize("T", [5, 200])
def test_attention_over_two_vectors_is_attention_over_what_the_sequences_hold(T):
    torch.manual_seed(0)
    q, k, v = (torch.randn(2, T, 2, 4, dtype=torch.float64, requires_grad=True) for _ in range(3))
    x = torch.rand(2, 3, T) < 0.4
    place = x.long()[..., None, None].expand(-1, -1, -1, 1, 4)
    held = [
        part.unsqueeze(1).expand(-1, 3, -1, -1, -1).gather(3, place).squeeze(3)
        for part in (q, k, v)
    ]
    slow = torch.nn.functional.scaled_dot_product_attention(*held, is_causal=True)
    fast = attention(q, k, v, x)
    torch.testing.assert_close(fast, slow, rtol=1e-9, atol=1e-12)
    above = torch.randn_like(slow)
    both = (torch.autograd.grad(way, [q, k, v], above) for way in (fast, slow))
    for ours, theirs in zip(*both, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-12)


def test_training_is_that_of_torch_optim_on_one_dense_model():
    """Six iterations of AdamW with weight decay, sequence by sequence and position by position."""
    changes = {"sequence_length": 8, "batch": 3, "iterations": 6, "d": 4, "weight_decay": 0.1}
    of = TrainingSettings(**(USUAL | changes))
    how = EnsembleSettings(training=of, seeds=2, evaluate_every=6, evaluate_on=4, variants=[])
    chain = Chain(0.5, 0.8)
    trained = training.train_group([Variant(name="a")], how, chain)
    random = RunRandom([1])
    own = {
        n: t[0].clone().requires_grad_() for n, t in initialisation.standard(random, 8, 4).items()
    }
    groups = [
        {"params": [tensor for name, tensor in own.items() if name != "b"], "weight_decay": 0.1},
        {"params": [own["b"]], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=of.lr, betas=(0.9, 0.95))
    rate = training.one_cycle(of.iterations, of.warm_up)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, rate)
    for step in range(of.iterations):
        u = random.uniform(3, 9, use="sequences", step=step)[0]
        loss = torch.stack([dense_loss(own, plain_row) for plain_row in u.tolist()]).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    for name, tensor in own.items():
        torch.testing.assert_close(
            trained.parameters[name][1], tensor.detach(), rtol=1e-4, atol=1e-6
        )


def dense_loss(own: dict[str, torch.Tensor], u: list[float]) -> torch.Tensor:
    x = plain.markov_loop(u, 0.5, 0.8)
    scores = dense_logits(own, x[:-1])
    target = torch.tensor(x[1:], dtype=scores.dtype)
    return torch.nn.functional.binary_cross_entropy_with_logits(scores, target)


def dense_logits(own: dict[str, torch.Tensor], x: list[int]) -> torch.Tensor:
    z = [own["wpe"][t] + x_t * own["e"] for t, x_t in enumerate(x)]
    found = []
    for t in range(len(x)):
        scores = torch.stack([(own["W_K"] @ z[s]) @ (own["W_Q"] @ z[t]) for s in range(t + 1)])
        share = torch.softmax(scores / len(own["e"]) ** 0.5, dim=0)
        y = z[t] + own["W_O"] @ sum(share[s] * (own["W_V"] @ z[s]) for s in range(t + 1))
        found.append(own["e"] @ (y + own["W_2"] @ torch.relu(own["W_1"] @ y)) + own["b"])
    return torch.stack(found)


@pytest.mark.parametrize("scale", [0.02, 0.7])
def test_the_curvature_is_that_of_the_dense_hessian_in_all_parameters(scale):
    """The least curvature in e at the unigram model, all others moving with it as is best."""
    chain, T, d = Chain(0.5, 0.8), 4, 3
    parameters = {n: t * scale / 0.6 for n, t in random_parameters(2, T, d).items()}
    # Every sequence once: each place has its symbols' right shares, as in the population.
    x = torch.tensor(list(itertools.product([False, True], repeat=T)))
    found = curvature(parameters, x.expand(2, -1, -1), chain)
    unit = 2 * chain.p * chain.q * (chain.p + chain.q - 1) / (chain.p + chain.q) ** 2
    for run in range(2):
        own = {name: value[run] for name, value in parameters.items()}
        best = torch.tensor(np.log(chain.p / chain.q))
        own |= {"e": torch.zeros(d, dtype=torch.float64), "b": best}
        flat = torch.cat([value.flatten() for value in own.values()])

        def loss(flat: torch.Tensor, own=own) -> torch.Tensor:
            parts = flat.split([value.numel() for value in own.values()])
            pairs = zip(own.items(), parts, strict=True)
            moved = {name: part.view_as(value) for (name, value), part in pairs}
            scores = torch.stack([dense_logits(moved, row) for row in x.int().tolist()])
            chance = chain.p + (1 - chain.q - chain.p) * x.double()
            surprise = torch.nn.functional.binary_cross_entropy_with_logits(
                scores, chance, reduction="none"
            )
            return chain.pi1 * surprise[x].mean() + chain.pi0 * surprise[~x].mean()

        assert torch.autograd.functional.jacobian(loss, flat).abs().max() < 1e-12
        hessian = torch.autograd.functional.hessian(loss, flat, vectorize=True)
        rest = torch.ones(len(flat), dtype=torch.bool)
        rest[:d] = False  # e stands first
        H_ee, H_er, H_rr = hessian[:d, :d], hessian[:d, rest], hessian[rest][:, rest]
        least = torch.linalg.eigvalsh(H_ee - H_er @ torch.linalg.pinv(H_rr) @ H_er.T)[0] / unit
        assert float(found[run]) == pytest.approx(float(least), rel=1e-7)


def test_the_slope_at_e_0_is_that_of_the_dense_model_on_any_sequences():
    """The Hessian of the sum of wrong <e, z(e)> at e = 0 is twice the symmetric slope."""
    parameters = random_parameters(1, 5, 3)
    drawn = torch.Generator().manual_seed(0)
    x = (torch.rand(6, 5, generator=drawn) < 0.4).cumsum(1) % 2  # places depend on each other
    wrong = torch.randn(6, 5, generator=drawn, dtype=torch.float64)
    own = {name: value[0] for name, value in parameters.items()}

    def mismatch(e: torch.Tensor) -> torch.Tensor:
        moved = own | {"e": e}
        return sum(w @ dense_logits(moved, row) for w, row in zip(wrong, x.tolist(), strict=True))

    zero = torch.zeros(3, dtype=torch.float64)
    hessian = torch.autograd.functional.hessian(mismatch, zero)
    slope = _at_zero(parameters, x[None].double(), wrong[None])[1][0]
    torch.testing.assert_close(slope + slope.T, hessian, rtol=1e-9, atol=1e-12)
