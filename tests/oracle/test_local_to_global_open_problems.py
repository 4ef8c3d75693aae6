"""Sources of any order and transformers of any depth against plain loops."""

import itertools
import math

import numpy as np
import pytest
import torch

from onelayer.compute.ensemble import RunRandom
from onelayer.papers.local_to_global import open_problems
from onelayer.papers.local_to_global.chain import Chain, MarkovSource
from onelayer.papers.local_to_global.initialisation import standard
from onelayer.papers.local_to_global.open_problems import contexts, draw, population_losses

THREE = MarkovSource(np.array([[0.1, 0.8, 0.1], [0.2, 0.3, 0.5], [0.6, 0.1, 0.3]]))
SECOND = MarkovSource(np.array([[0.9, 0.1], [0.7, 0.3], [0.2, 0.8], [0.4, 0.6]]))


def entropy_loop(source: MarkovSource, memory: int) -> float:
    """Over all histories of length k and next symbols, from the definition."""
    S, k = source.states, source.order
    law = np.full(S**k, S**-k)
    for _ in range(2000):  # the chain of contexts, step by step
        new = np.zeros_like(law)
        for history in itertools.product(range(S), repeat=k):
            row = sum(x * S ** (k - 1 - i) for i, x in enumerate(history))
            for y in range(S):
                after = sum(x * S ** (k - 1 - i) for i, x in enumerate((*history[1:], y)))
                new[after] += law[row] * source.transitions[row, y]
        law = new
    seen, joint = {}, {}
    for history in itertools.product(range(S), repeat=k):
        row = sum(x * S ** (k - 1 - i) for i, x in enumerate(history))
        for y in range(S):
            short = history[k - memory :]
            chance = law[row] * source.transitions[row, y]
            seen[short] = seen.get(short, 0) + chance
            joint[short, y] = joint.get((short, y), 0) + chance
    return -sum(p * math.log(p / seen[short]) for (short, _), p in joint.items())


@pytest.mark.parametrize("source", [THREE, SECOND])
def test_entropies_are_those_of_the_loop_over_histories(source):
    for memory in range(source.order + 1):
        assert source.entropy(memory) == pytest.approx(entropy_loop(source, memory), abs=1e-12)


def test_two_states_are_the_chain_of_the_paper():
    chain, source = Chain(0.5, 0.8), MarkovSource(np.array([[0.5, 0.5], [0.8, 0.2]]))
    assert source.law == pytest.approx([chain.pi0, chain.pi1])
    assert source.entropy(0) == pytest.approx(chain.unigram_entropy)
    assert source.entropy(1) == pytest.approx(chain.bigram_entropy)
    assert source.second_eigenvalue == pytest.approx(1 - chain.p - chain.q)


@pytest.mark.parametrize("source", [THREE, SECOND])
def test_sequences_have_the_law_of_the_source_from_the_first_symbol_on(source):
    u = torch.rand(1, 40_000, 5, generator=torch.Generator().manual_seed(0))
    x = draw(u, [source])
    context = contexts(x, source)[0]
    for place in (0, context.shape[1] - 2):
        counts = np.bincount(context[:, place].numpy(), minlength=len(source.law)) / 40_000
        assert counts == pytest.approx(source.law, abs=0.012)
        following = x[0, :, place + source.order]
        for row, law in enumerate(source.transitions):
            after = following[context[:, place] == row].numpy()
            found = np.bincount(after, minlength=source.states) / len(after)
            assert found == pytest.approx(law, abs=0.025)


def plain_log_probabilities(theta: dict[str, np.ndarray], x: list[int]) -> np.ndarray:
    """One sequence through one model, position by position and block by block."""
    z = [theta["rows"][symbol] + theta["wpe"][place] for place, symbol in enumerate(x)]
    for block in range(len(theta["W_Q"])):
        W = {name: theta[name][block] for name in ("W_Q", "W_K", "W_V", "W_O", "W_1", "W_2")}
        new = []
        for t in range(len(x)):
            q = W["W_Q"] @ z[t]
            score = [q @ (W["W_K"] @ z[u]) / math.sqrt(len(q)) for u in range(t + 1)]
            weight = np.exp(score) / np.exp(score).sum()
            middle = z[t] + W["W_O"] @ sum(w * (W["W_V"] @ z[u]) for u, w in enumerate(weight))
            new.append(middle + W["W_2"] @ np.maximum(W["W_1"] @ middle, 0))
        z = new
    logits = np.array([theta["rows"] @ one + theta["b"] for one in z])
    return logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))


@pytest.mark.parametrize("depth", [1, 2])
def test_log_probabilities_are_those_of_the_loop(depth):
    start = standard(RunRandom([3, 4]), 6, 4, 3, depth)
    theta = {name: (30 * value).double() for name, value in start.items()}
    theta["b"] = torch.tensor([[0.1, -0.2, 0.3]] * 2, dtype=torch.float64)
    x = torch.tensor([[[0, 2, 1, 1, 0, 2]], [[1, 1, 2, 0, 2, 2]]])
    found = open_problems.log_probabilities(theta, x)
    for run in range(2):
        own = {name: value[run].numpy() for name, value in theta.items()}
        expected = plain_log_probabilities(own, x[run, 0].tolist())
        np.testing.assert_allclose(found[run, 0].numpy(), expected, atol=1e-10)


def test_the_population_loss_of_the_unigram_model_is_the_unigram_entropy():
    start = standard(RunRandom([0]), 12, 4, 2, 1)
    theta = {name: torch.zeros_like(value, dtype=torch.float64) for name, value in start.items()}
    joint = SECOND.law @ SECOND.transitions
    theta["b"] = torch.from_numpy(np.log(joint))[None]
    x = draw(torch.rand(1, 8, 12, generator=torch.Generator().manual_seed(1)), [SECOND])
    found = population_losses(theta, x, [SECOND])
    assert float(found) == pytest.approx(SECOND.entropy(0), abs=1e-6)
