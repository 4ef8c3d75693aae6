"""The batched transformer of Makkuva et al. (2024) against one sequence at a time."""

import numpy as np
import pytest
import torch

from onelayer.compute.ensemble import RunRandom
from onelayer.papers.local_to_global import initialisation, training, transformer
from onelayer.papers.local_to_global.chain import Chain
from tests.oracle import local_to_global as plain

CHAIN = Chain(0.5, 0.8)


def random_parameters(runs: int, T: int, d: int) -> dict[str, torch.Tensor]:
    start = initialisation.standard(RunRandom(range(runs)), T, d)
    random = RunRandom(range(runs))
    return {
        name: 0.6 * random.normal(*tensor.shape[1:], use=name, dtype=torch.float64)
        for name, tensor in start.items()
    }


@pytest.mark.parametrize("d", [3, 8])
def test_logits_are_those_of_the_loop(d):
    parameters = random_parameters(2, 9, d)
    x = torch.rand(2, 4, 9, generator=torch.Generator().manual_seed(d)) < 0.5
    found = transformer.logits(parameters, x)
    for run in range(2):
        theta = {name: tensor[run].numpy() for name, tensor in parameters.items()}
        for row in range(4):
            expected = plain.transformer_logits(theta, x[run, row].int().tolist())
            np.testing.assert_allclose(found[run, row], expected, atol=1e-10)


def test_the_loss_is_the_mean_surprise_of_the_next_symbol():
    parameters = random_parameters(2, 6, 4)
    x = torch.rand(2, 5, 7, generator=torch.Generator().manual_seed(0)) < 0.4
    for run, loss in enumerate(transformer.losses(parameters, x)):
        theta = {name: tensor[run].numpy() for name, tensor in parameters.items()}
        surprise = []
        for row in x[run].int().tolist():
            for logit, target in zip(
                plain.transformer_logits(theta, row[:-1]), row[1:], strict=True
            ):
                surprise.append(np.logaddexp(0, -logit if target else logit))
        assert loss.item() == pytest.approx(np.mean(surprise), abs=1e-10)


def test_population_loss_of_unigram_and_bigram_model_are_the_entropies():
    """A transformer that passes nothing on but b is the unigram model, one with e a bigram."""
    parameters = {n: torch.zeros_like(t) for n, t in random_parameters(2, 20, 4).items()}
    logit = [np.log(CHAIN.pi1 / CHAIN.pi0), np.log(CHAIN.p / (1 - CHAIN.p))]
    parameters["b"] = torch.tensor(logit, dtype=torch.float64)
    # s* < 0 needs the MLP: e = 1, W_2 W_1 e = -(1 - s*) e on the first unit.
    parameters["e"][1, 0] = 1.0
    parameters["W_1"][1, 0, 0] = 1.0
    parameters["W_2"][1, 0, 0] = CHAIN.s_star - 1
    x = torch.rand(2, 3, 20, generator=torch.Generator().manual_seed(0)) < 0.4
    unigram, bigram = transformer.population_losses(parameters, x, CHAIN).tolist()
    assert unigram == pytest.approx(CHAIN.unigram_entropy, abs=1e-12)
    assert bigram == pytest.approx(CHAIN.bigram_entropy, abs=1e-12)


def test_two_rows_are_one_vector_and_an_offset():
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
