"""Count space against sequences, loops and least squares: the same losses, gradients and optima."""

import numpy as np
import pytest
import torch
from scipy import stats
from torch.nn import functional

from onelayer.ensemble import RunRandom
from onelayer.settings.topic_structure_synthetic import (
    GapGridSettings,
    SyntheticTraining,
    TopicModelSettings,
)
from onelayer.topic_structure.synthetic import attention, data, gaps, model, optima
from onelayer.topic_structure.synthetic.train import Batches, Run, initial_parameters, train_runs
from tests.oracle.topic_structure_synthetic import BertStyle, sequence_loss

D = data.SPECIAL + 12
WORDS = TopicModelSettings(T=3, v=4, p_m=0.3, p_c=0.2, p_r=0.3, selection="independent")
DOCUMENTS, BATCH = 24, 6
BASE = SyntheticTraining(model=WORDS, batch=BATCH, chunk=2, device="cpu")


def documents(framed: bool = False) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    weights = rng.dirichlet(np.full(WORDS.T, 0.5), DOCUMENTS)
    tokens = data.draw_documents(rng, WORDS.v, weights, (8, 15), framed)
    return tokens, *data.mask_documents(rng, tokens, WORDS)


def own_losses(parameters, batch, embedding, loss):
    """Loss of every run, and its gradients."""
    trained = {name: value.clone().requires_grad_() for name, value in parameters.items()}
    found = model.losses(trained, batch, embedding, loss)
    slopes = torch.autograd.grad(found.sum(), list(trained.values()), allow_unused=True)
    return found, dict(zip(trained, slopes, strict=True))


@pytest.mark.parametrize("masked_attended", [True, False])
@pytest.mark.parametrize("loss", ["squared", "mean_squared", "cross_entropy"])
@pytest.mark.parametrize(
    ("embedding", "uniform"),
    [
        ("one_hot", False),
        ("trained", False),
        ("layer_norm", False),
        ("one_hot", True),
        ("trained", True),
    ],
)
def test_count_space_equals_the_sequence_model(embedding, uniform, loss, masked_attended) -> None:
    tokens, shown, selected = documents(framed=not masked_attended)
    rows = data.count_rows(D, tokens, shown, selected, masked_attended)
    seeds, step = [3, 5, 3], 5  # in the second epoch
    batches = Batches(rows, seeds, BATCH, dtype=torch.float64)
    random = RunRandom(torch.tensor(seeds))
    start = initial_parameters(random, embedding, D, dtype=torch.float64)
    if uniform:
        start = {name: start[name] for name in ("W_V", "W_E", "b") if name in start}
    spread = torch.tensor([1.0, 2.0, 4.0], dtype=torch.float64)
    parameters = {
        name: value * spread.reshape(-1, *[1] * (value.ndim - 1)) + 0.1
        for name, value in start.items()
    }
    found, gradients = own_losses(parameters, batches(step), embedding, loss)
    for run, seed in enumerate(seeds):
        chosen = batches.drawn(seed, step)
        own = {n: p[run].detach().clone().requires_grad_() for n, p in parameters.items()}
        arrays = (torch.from_numpy(array[chosen]) for array in (tokens, shown, selected))
        expected = sequence_loss(own, *arrays, embedding, loss, masked_attended, uniform)
        slopes = torch.autograd.grad(expected, list(own.values()), allow_unused=True)
        torch.testing.assert_close(found[run], expected, rtol=1e-6, atol=1e-9)
        for (name, ours), theirs in zip(gradients.items(), slopes, strict=True):
            theirs = torch.zeros_like(own[name]) if theirs is None else theirs
            torch.testing.assert_close(ours[run], theirs, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("loss", ["mean_squared", "cross_entropy"])
def test_count_space_equals_the_authors_kind_of_bert(loss) -> None:
    tokens, shown, selected = documents(framed=True)
    rows = data.count_rows(D, tokens, shown, selected, attended=False)
    batches = Batches(rows, [1], BATCH, dtype=torch.float64)
    start = initial_parameters(RunRandom([1]), "layer_norm", D, dtype=torch.float64)
    parameters = {name: 3 * value + 0.1 for name, value in start.items()}
    ours, gradients = own_losses(parameters, batches(0), "layer_norm", loss)
    bert = BertStyle({name: value[0] for name, value in parameters.items()})
    chosen = batches.drawn(1, 0)
    tokens, shown, selected = (torch.from_numpy(a[chosen]) for a in (tokens, shown, selected))
    f = bert(shown, (shown != data.PAD) & ~selected)[selected]
    if loss == "cross_entropy":
        expected = functional.cross_entropy(f, tokens[selected])
    else:
        expected = functional.mse_loss(f, functional.one_hot(tokens[selected], f.shape[1]).double())
    expected.backward()
    torch.testing.assert_close(ours[0], expected, rtol=1e-6, atol=1e-9)
    theirs = {
        "W_K": bert.attention.key.weight.grad,
        "W_Q": bert.attention.query.weight.grad,
        "W_V": bert.attention.value.weight.grad,
        "b_Q": bert.attention.query.bias.grad,
        "b_V": bert.attention.value.bias.grad,
        "gain": bert.embeddings.LayerNorm.weight.grad,
        "shift": bert.embeddings.LayerNorm.bias.grad,
        "token_type": bert.embeddings.token_type_embeddings.weight.grad[0],
    }
    assert set(gradients) == set(theirs)
    for name, gradient in gradients.items():
        torch.testing.assert_close(gradient[0], theirs[name], rtol=1e-6, atol=1e-9)
    assert bert.attention.key.bias.grad.abs().max() < 1e-12


@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
def test_a_training_equals_torchs_own_on_sequences(optimizer) -> None:
    tokens, shown, selected = documents()
    rows = data.count_rows(D, tokens, shown, selected)
    runs, steps = [Run(seed, optimizer, 0.05) for seed in (3, 5)], 12
    found = train_runs(BASE, rows, runs, "one_hot", "cross_entropy", steps, dict).observed
    batches = Batches(rows, [3, 5], BATCH)
    for place, run in enumerate(runs):
        start = initial_parameters(RunRandom([run.seed]), "one_hot", D)
        own = {name: torch.nn.Parameter(start[name][0]) for name in ("W_K", "W_Q", "W_V")}
        kind = torch.optim.Adam if optimizer == "adam" else torch.optim.SGD
        descent = kind(own.values(), lr=run.learning_rate)
        for step in range(steps):
            chosen = batches.drawn(run.seed, step)
            arrays = (torch.from_numpy(array[chosen]) for array in (tokens, shown, selected))
            descent.zero_grad()
            sequence_loss(own, *arrays, "one_hot", "cross_entropy", True, False).backward()
            descent.step()
        for name in ("W_Q", "W_V"):
            ours = found[name][-1, place]
            torch.testing.assert_close(ours, own[name].data, rtol=1e-3, atol=1e-5)


def test_a_fixed_value_is_that_of_the_loss() -> None:
    tokens, shown, selected = documents()
    rows = data.count_rows(D, tokens, shown, selected)
    W_V = optima.stage_one_optimum(WORDS, rows)
    how = {"trained": ["W_K", "W_Q"], "fixed": {"W_V": W_V}}
    trained = train_runs(BASE, rows, [Run(1, "sgd", 0.1)], "one_hot", "squared", 1, dict, **how)
    start = initial_parameters(RunRandom([1]), "one_hot", D)
    p = {name: start[name] for name in ("W_K", "W_Q")}
    p["W_V"] = torch.from_numpy(W_V[None]).float()
    assert set(trained.parameters) == {"W_K", "W_Q"}
    first = model.losses(p, Batches(rows, [1], BATCH)(0), "one_hot", "squared")
    assert trained.losses[0].item() == pytest.approx(first.item())


def test_attention_by_pair_class_equals_loops_over_positions() -> None:
    tokens, _, _ = documents(framed=True)
    length = 9
    S = np.random.default_rng(1).normal(0, 2, (2, D, D))
    for topics in attention.accountings(WORDS).values():
        found = attention.pair_averages(S, tokens, topics, length)
        for run, logits in enumerate(S):
            sums, pairs = np.zeros(3), np.zeros(3)
            for document in tokens:
                kept = [token for token in document[:length] if token != data.PAD]
                for query in kept:
                    weights = np.exp([logits[query, key] for key in kept])
                    weights /= weights.sum()
                    for key, weight in zip(kept, weights * len(kept) / length, strict=True):
                        place = pair_class(topics, query, key)
                        if place is not None:
                            sums[place] += weight
                            pairs[place] += 1
            np.testing.assert_allclose(found[run], sums / pairs, rtol=1e-9)


def pair_class(topics: np.ndarray, query: int, key: int) -> int | None:
    if attention.NOT_COUNTED in (topics[query], topics[key]):
        return None
    if query == key:
        return 0
    if attention.NO_TOPIC in (topics[query], topics[key]):
        return None
    return 1 if topics[query] == topics[key] else 2


@pytest.mark.parametrize("tau", [1, 2])
def test_tied_attention_equals_the_sequence_model_with_tied_scores(tau) -> None:
    rng = np.random.default_rng(2)
    weights = data.topic_weights(rng, WORDS.T, DOCUMENTS, tau, None)
    tokens = data.draw_documents(rng, WORDS.v, weights, (20, 30))
    shown, selected = data.mask_documents(rng, tokens, WORDS)
    rows = data.count_rows(D, tokens, shown, selected)
    W_V = optima.stage_one_optimum(WORDS, rows)
    loss = optima.tied_loss(WORDS, rows, W_V)
    logs = np.array([0.7, -0.4])
    value, gradient = loss(logs)
    topic, total, n = data.topics_of_ids(WORDS), 0.0, 0
    for document, seen, chosen in zip(tokens, shown, selected, strict=True):
        keys = [token for token in seen if token != data.PAD]
        for position in np.flatnonzero(chosen):
            query = seen[position]
            if query < data.SPECIAL:
                continue
            tied_to = [1 if k == query else 0 if topic[k] == topic[query] else None for k in keys]
            score = [1.0 if which is None else np.exp(logs[which]) for which in tied_to]
            f = W_V[:, keys] @ (np.array(score) / np.sum(score))
            f[document[position]] -= 1
            total, n = total + f @ f, n + 1
    np.testing.assert_allclose(value, total / n, rtol=1e-9)
    for axis in range(2):
        step = 1e-6 * np.eye(2)[axis]
        slope = (loss(logs + step)[0] - loss(logs - step)[0]) / 2e-6
        np.testing.assert_allclose(gradient[axis], slope, rtol=1e-5, atol=1e-9)


def test_the_embeddings_optimum_is_where_gradient_descent_ends() -> None:
    tokens, shown, selected = documents()
    rows = data.count_rows(D, tokens, shown, selected)
    moments, decay = optima.moments(rows), 1e-2
    E = optima.ridge_embedding(moments, decay)
    xx, xy = map(torch.from_numpy, moments)
    W = torch.eye(D, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.SGD([W], lr=2.0)
    for _ in range(3000):
        F = W.T @ W
        loss = (F @ xx * F).sum() - 2 * (F * xy).sum() + decay / 2 * W.square().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    np.testing.assert_allclose(E, (W.T @ W).detach().numpy(), atol=5e-4)
    assert np.linalg.eigvalsh(E).min() > -1e-9


def test_the_value_matrixs_optimum_is_the_regression_of_masked_words_on_key_shares() -> None:
    tokens, shown, selected = documents()
    rows = data.count_rows(D, tokens, shown, selected)
    decay = 1e-2
    X, Y = [], []
    for document, seen, chosen in zip(tokens, shown, selected, strict=True):
        keys = seen[seen != data.PAD]
        for position in np.flatnonzero(chosen):
            X.append(np.bincount(keys, minlength=D) / len(keys))
            Y.append(np.eye(D)[document[position]])
    X, Y = np.array(X), np.array(Y)
    # ridge regression as least squares on data with sqrt(n decay / 2) I appended
    extra = np.sqrt(len(X) * decay / 2) * np.eye(D)
    W = np.linalg.lstsq(np.vstack([X, extra]), np.vstack([Y, 0 * extra]), rcond=None)[0].T
    found = optima.ridge_value(optima.moments(rows), decay)
    np.testing.assert_allclose(found, W, atol=1e-9)


def test_the_number_of_documents_takes_nothing_off_the_gap_of_the_embeddings():
    # As they are, these documents' gaps are .990 and .995 of it, 3.5 standard errors below.
    words = TopicModelSettings(T=10, v=10, p_m=0.15, p_c=0.9, p_r=0.1, selection="proportion")
    grid = {"N": (1000, 1000), "documents": 40, "seeds": 8, "tau": 2, "taus": [], "v": [], "T": []}
    found = gaps.gap_grid(words, GapGridSettings(**grid, p_m=[], p_c=[]))
    ratios = found.loc[found["parameter"] == "E", "gap"] / optima.gap_at_length(words, 2, 1000)
    assert abs(ratios.mean() - 1) < 2.4 * stats.sem(ratios) < 0.004
