"""The fast code of Scan and Snap equals the slow one: model, trainings, cells of Fig. 6, text."""

import functools
import math

import numpy as np
import pandas as pd
import pytest
import scipy.stats
import torch

from onelayer.ensemble import Ensemble, Optimizer, train
from onelayer.evidence.intervals import mean
from onelayer.scan_snap import language_model, measures, simulation
from onelayer.scan_snap.data import TOKEN_CHANCES, Task, draw_counts
from onelayer.scan_snap.measures import INITIAL_ENTROPY
from onelayer.settings.scan_snap import SimulationSettings
from tests.oracle import scan_snap as plain

TASK = Task(num_last=2, next_per_last=2, length=16, batch=10)
SEEDS = [3, 3, 8, 8]  # two streams of data, two runs each
READ = functools.partial(simulation.read_batch, TASK, SEEDS)
LOSS_AND_GRADIENTS = functools.partial(simulation.loss_and_gradients, TASK)


def start():
    parameters = simulation.initial_parameters(TASK, SEEDS, "uniform")
    scale = torch.tensor([1.0, 8.0, 2.0, 5.0], dtype=torch.float64)[:, None, None]
    return {name: tensor.double() * scale for name, tensor in parameters.items()}


def sequences(seed, step):
    return plain.sequences_of(TASK, *draw_counts(TASK, seed, step), np.random.default_rng(seed))


@pytest.mark.parametrize("step", range(2))
def test_loss_and_gradients_equal_those_of_the_plain_model(step):
    parameters = start()
    loss, slopes = LOSS_AND_GRADIENTS(parameters, READ(step))
    for run, seed in enumerate(SEEDS):
        Y, Z = plain.full_matrices(TASK, parameters["Y"][run], parameters["Z"][run])
        Y.requires_grad_(), Z.requires_grad_()
        expected = plain.mean_loss(Y, Z, sequences(seed, step))
        expected.backward()
        full_Y, full_Z = plain.full_matrices(TASK, slopes["Y"][run], slopes["Z"][run])
        assert abs(loss[run] - expected) <= 1e-12
        assert (full_Y - Y.grad).abs().max() <= 1e-12
        assert (full_Z - Z.grad).abs().max() <= 1e-12
        assert Z.grad.abs().max() > 1e-4


def test_training_equals_torch_sgd_on_the_plain_model():
    rates = torch.tensor([1.0, 2.0, 1.0, 2.0])
    optimizer = Optimizer("sgd", lr={"Y": 2 * rates, "Z": rates}, momentum=0.9)
    trained = train(Ensemble(start(), READ, optimizer, gradients=LOSS_AND_GRADIENTS), 8)
    run, seed = 1, 3
    Y, Z = plain.full_matrices(TASK, *(start()[name][run] for name in "YZ"))
    Y.requires_grad_(), Z.requires_grad_()
    sgd = torch.optim.SGD([{"params": [Y], "lr": 4.0}, {"params": [Z], "lr": 2.0}], momentum=0.9)
    for step in range(8):
        sgd.zero_grad()
        plain.mean_loss(Y, Z, sequences(seed, step)).backward()
        sgd.step()
    full_Y, full_Z = plain.full_matrices(TASK, *(trained.parameters[name][run] for name in "YZ"))
    assert (full_Y - Y).abs().max() <= 1e-10
    assert (full_Z - Z).abs().max() <= 1e-10


def test_a_decoder_that_is_frozen_on_the_way_equals_torch_sgd_without_it():
    """Until the 4th iteration Y moves, then not, momentum or no; Z goes on."""
    settings = {"num_last": [1], "next_per_last": 1, "length": 12, "batch": 8, "momentum": 0.9}
    settings |= {"lr_Z": [1.0], "lr_Y_multiplier": [2.0], "initial": "uniform", "seeds": 2}
    settings = SimulationSettings(**settings, iterations=15, every=1, longer=1)
    runs = simulation.simulate(settings, frozen_at=np.array([4, 99])).query("seed == 0")
    task = Task(num_last=1, next_per_last=1, length=12, batch=8)
    parameters = simulation.initial_parameters(task, [0], "uniform")
    Y, Z = (t.double() for t in plain.full_matrices(task, *(parameters[n][0] for n in "YZ")))
    Y.requires_grad_(), Z.requires_grad_()
    sgd = torch.optim.SGD([{"params": [Y], "lr": 2.0}, {"params": [Z], "lr": 1.0}], momentum=0.9)
    for step in range(15):
        sgd.param_groups[0]["lr"] = 2.0 if step < 4 else 0.0
        drawn = draw_counts(task, 0, step)
        sgd.zero_grad()
        plain.mean_loss(Y, Z, plain.sequences_of(task, *drawn, np.random.default_rng(0))).backward()
        sgd.step()
        weights = TOKEN_CHANCES * Z[task.contextual, :20].detach().exp().numpy()
        found = runs.query(f"iteration == {step + 1}")[measures.ATTENTION].to_numpy()
        assert abs(found[0] - weights / weights.sum()).max() < 1e-5


def test_counts_are_those_of_independent_draws():
    """Mean and covariance of the counts are the multinomial's, classes are uniform."""
    task = Task(num_last=3, next_per_last=2)
    counts, classes = zip(*(draw_counts(task, 0, step) for step in range(100)), strict=True)
    counts = np.concatenate(counts).astype(float)
    sizes = np.stack([np.bincount(part, minlength=6) for part in classes])
    assert (counts.sum(axis=1) == 127).all() and (sizes.sum(axis=1) == 128).all()
    assert abs(counts.mean(axis=0) / 127 - TOKEN_CHANCES).max() < 6e-4
    expected = 127 * (np.diag(TOKEN_CHANCES) - np.outer(TOKEN_CHANCES, TOKEN_CHANCES))
    assert abs(np.cov(counts.T) - expected).max() < 0.25
    assert abs(sizes.mean(axis=0) - 128 / 6).max() < 1.5


def test_measures_of_a_run_equal_loops_over_iterations():
    rng = np.random.default_rng(0)
    paths = np.exp(np.cumsum(0.05 * rng.normal(size=(45, 3, 20)), axis=0))
    paths /= paths.sum(axis=2, keepdims=True)
    runs = pd.DataFrame(paths.reshape(-1, 20), columns=measures.ATTENTION)
    runs["iteration"], runs["seed"] = np.repeat(np.arange(45), 3), np.tile(range(3), 45)
    runs = runs.assign(num_last=1, lr_Z=1, lr_Y_multiplier=1, sequence_class=0, diverged_at=-1)
    found, slowed = measures.scan_measures(runs.sample(frac=1, random_state=0), 40), 0
    for seed in range(3):
        c, one = paths[:, seed], found.loc[seed]

        def entropy(t, c=c):
            return -sum(p / c[t, 10:].sum() * math.log(p / c[t, 10:].sum()) for p in c[t, 10:])

        def over_window(w, value):
            return sum(np.abs(value(t + 1) - value(t)).sum() for t in range(w, w + 5))

        fastest = max(range(36), key=lambda w, c=c: over_window(w, lambda t, c=c: c[t]))

        def slowing(value, fastest=fastest):
            if not fastest + 20 <= 35:
                return math.nan
            return math.log10(over_window(fastest, value) / over_window(fastest + 20, value))

        nan_ok = {"nan_ok": True}
        assert one["slowing_down"] == pytest.approx(slowing(lambda t, c=c: c[t, 19]), **nan_ok)
        assert one["entropy_slowing_down"] == pytest.approx(slowing(entropy), **nan_ok)
        ways = [sum(abs(c[b] - c[a])) for a, b in ((0, 40), (40, 44))]
        assert one["way_after"] == pytest.approx(ways[1] / ways[0])
        rank = scipy.stats.spearmanr(c[40, 10:] / c[0, 10:], TOKEN_CHANCES[10:]).statistic
        assert one["gain_spearman"] == pytest.approx(rank)
        drops = [
            next((t for t in range(41) if c[t, k] < 0.99 * c[: t + 1, k].max()), 41)
            for k in range(10, 20)
        ]
        rank = scipy.stats.spearmanr(drops, TOKEN_CHANCES[10:]).statistic
        assert one["drop_spearman"] == pytest.approx(rank)
        slowed += not math.isnan(one["slowing_down"])
    assert slowed > 0


def test_the_slope_is_that_of_least_squares_through_the_start():
    rng = np.random.default_rng(1)
    published = rng.uniform(1.5, 2.1, 8)
    ours = 0.7 * (published - INITIAL_ENTROPY) + INITIAL_ENTROPY
    ours = ours[:, None] + rng.normal(0, 0.02, (8, 10))
    cells = pd.DataFrame(map(mean, ours)).assign(published=published, num_last=[1, 2] * 4)
    found = measures.entropy_slope(cells)
    x, y = published - INITIAL_ENTROPY, ours.mean(axis=1) - INITIAL_ENTROPY
    [expected], *_ = np.linalg.lstsq(x[:, None], y, rcond=None)
    assert found["value"] == pytest.approx(expected) and found["n"] == 10
    squares = 0.0
    for size in (0, 1):  # cells of one size may all move together, of two each by itself
        halves = [mean(ours[cell])["high"] - y[cell] - INITIAL_ENTROPY for cell in range(8)]
        of_size = range(size, 8, 2)
        squares += sum(abs(x[cell]) / (x**2).sum() * halves[cell] for cell in of_size) ** 2
    assert found["high"] - found["value"] == pytest.approx(np.sqrt(squares))


def torch_model(parameters, run):
    """One run's parameters in torch's own encoder layer, and the names of both."""
    layer = torch.nn.TransformerEncoderLayer(8, 1, 12, dropout=0.0, batch_first=True).double()
    names = {
        "self_attn.in_proj_weight": "attention_in",
        "self_attn.in_proj_bias": "attention_in_bias",
    }
    for theirs, ours in (
        ("self_attn.out_proj", "attention_out"),
        ("linear1", "feed_forward_in"),
        ("linear2", "feed_forward_out"),
        ("norm1", "norm1"),
        ("norm2", "norm2"),
    ):
        names |= {f"{theirs}.weight": ours, f"{theirs}.bias": f"{ours}_bias"}
    layer.load_state_dict({theirs: parameters[ours][run] for theirs, ours in names.items()})
    return layer, names


@pytest.mark.parametrize(("run", "positional"), [(0, True), (1, True), (0, False)])
def test_gradients_and_attention_equal_torchs_encoder_layer_and_its_clipping(run, positional):
    parameters = language_model.initial_parameters([4, 9], 30, 8, 12)
    parameters = {name: tensor.double() for name, tensor in parameters.items()}
    tokens = torch.randint(30, (2, 3, 7), generator=torch.Generator().manual_seed(0))
    layer, names = torch_model(parameters, run)
    own = {n: parameters[n][run].clone().requires_grad_() for n in ("embedding", "decoder")}
    bias = torch.zeros(30, dtype=torch.float64).requires_grad_()
    places, columns = np.arange(6)[:, None], np.arange(8)
    angles = places / 10000 ** (2 * (columns // 2) / 8)
    sinusoids = torch.tensor(np.where(columns % 2, np.cos(angles), np.sin(angles)))
    x = own["embedding"][tokens[run, :, :-1]] * math.sqrt(8) + positional * sinusoids
    mask = torch.nn.Transformer.generate_square_subsequent_mask(6, dtype=torch.float64)
    _, attention = layer.self_attn(x, x, x, attn_mask=mask)
    logits = layer(x, src_mask=mask) @ own["decoder"].T + bias
    targets = tokens[run, :, 1:].flatten()
    expected = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets)
    expected.backward()
    torch.nn.utils.clip_grad_norm_([*layer.parameters(), *own.values(), bias], 0.5)

    loss, slopes = language_model.loss_and_gradients(parameters, tokens, 0.5, positional)
    _, scores = language_model.forward(parameters, tokens[:, :, :-1], positional)
    # Sinusoids are float32 in the model.
    assert abs(loss[run] - expected) < 1e-6
    assert (torch.softmax(scores[run], dim=2) - attention).abs().max() < 1e-6
    theirs = {ours: dict(layer.named_parameters())[name] for name, ours in names.items()}
    for name, parameter in (theirs | own | {"decoder_bias": bias}).items():
        assert (slopes[name][run] - parameter.grad).abs().max() < 1e-6, name


def test_measures_of_attention_on_text_equal_plain_loops():
    rng = np.random.default_rng(0)
    scores = torch.from_numpy(rng.normal(scale=3, size=(2, 3, 6, 6)))
    bins = torch.from_numpy(rng.integers(-1, 4, size=(3, 6)))
    future = torch.ones(6, 6, dtype=torch.bool).triu(1)
    scores = scores.masked_fill(future, -torch.inf)
    attention = torch.softmax(scores, dim=3)
    # What leaves all known keys with less than any number there is: their shares are as before.
    lost = torch.where((bins == 3)[:, None], scores + 1000, scores)
    assert torch.isclose(
        language_model.measure(lost, bins, 4)["received"][:, :3],
        language_model.measure(scores, bins, 4)["received"][:, :3],
        rtol=1e-12,
    ).all()
    found = language_model.measure(scores, bins, 4)
    for run in range(2):
        sums = dict.fromkeys(("entropy", "top1", "sparse"), 0.0)
        received, pairs = np.zeros(4), np.zeros(4)
        for b in range(3):
            for q in range(6):
                row = attention[run, b, q, : q + 1].tolist()
                sums["entropy"] -= sum(a * math.log(a) for a in row if a > 0) / 6
                sums["top1"] += max(row) / 6
                sums["sparse"] += sum(a < 0.1 / (q + 1) for a in row) / (q + 1) / 6
                known = [k for k in range(q + 1) if 0 <= bins[b, k] < 3]
                for k, a in enumerate(row):
                    if bins[b, k] >= 0:
                        among = known if k in known else range(q + 1)
                        received[bins[b, k]] += a / sum(row[i] for i in among) * len(among)
                        pairs[bins[b, k]] += 1
        for name, value in sums.items():
            assert abs(found[name][run] - value) < 1e-12, name
        assert np.abs(found["received"][run].numpy() - received).max() < 1e-12
        assert (found["pairs"].numpy() == pairs).all()
