"""The count-space model equals the plain model on sequences: loss, gradients, whole trainings."""

import numpy as np
import pytest
import torch

from onelayer.compute.ensemble import Ensemble, Optimizer, train
from onelayer.papers.scan_snap import model, positions
from onelayer.papers.scan_snap.data import Task, draw_counts
from tests.oracle import scan_snap as plain

TASK = Task(num_last=2, next_per_last=2, length=16, batch=10)
SEEDS = [3, 3, 8, 8]  # two streams of data, two runs each


def start(dtype=torch.float64):
    parameters = model.initial_parameters(TASK, SEEDS, "uniform", dtype, "cpu")
    scale = torch.tensor([1.0, 8.0, 2.0, 5.0], dtype=dtype)[:, None, None]
    return {name: tensor * scale for name, tensor in parameters.items()}


def sequences(seed, step):
    drawn = draw_counts(TASK, seed, step)
    return plain.sequences_of(TASK, drawn.counts, drawn.bounds, np.random.default_rng(seed))


@pytest.mark.parametrize("step", range(3))
def test_loss_and_gradients_equal_those_of_the_plain_model(step):
    parameters = start()
    batch = model.StreamBatches(TASK, [3, 8], torch.float64, "cpu")(step)
    loss, slopes = model.gradients(parameters, batch)
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


def test_loss_and_gradients_with_positions_equal_those_of_the_plain_model():
    """One-hot tokens and places side by side, full matrices, one sequence at a time."""
    seeds, T, M = [3, 8], TASK.length - 1, TASK.vocabulary
    parameters = positions.initial_parameters(TASK, seeds, "uniform", torch.float64, "cpu")
    generator = torch.Generator().manual_seed(0)
    for name in "RQ":
        parameters[name] = torch.randn(parameters[name].shape, generator=generator).double()
    parameters = {name: tensor.requires_grad_() for name, tensor in parameters.items()}
    batch = positions.write_sequences(TASK, seeds, 1)
    found = positions.loss(parameters, batch)
    found.sum().backward()
    for run in range(len(seeds)):
        own = {name: tensor[run].detach() for name, tensor in parameters.items()}
        Y, Z = plain.full_matrices(TASK, own["Y"], own["Z"])
        of_places = torch.zeros(M, T, dtype=torch.float64)
        of_places[TASK.contextual : TASK.contextual + TASK.num_last] = own["R"]
        Y, Z = torch.cat([Y, own["Q"].T], dim=1), torch.cat([Z, of_places], dim=1)
        Y.requires_grad_(), Z.requires_grad_()
        sequences = []
        for slots, f in zip(batch.slots[run].tolist(), batch.classes[run].tolist(), strict=True):
            tokens = [slot if slot < 10 else 10 + 10 * f + slot - 10 for slot in slots]
            query = TASK.contextual + f // TASK.next_per_last
            sequences.append((tokens, query, TASK.contextual + TASK.num_last + f))
        expected = plain.mean_loss(Y, Z, sequences)
        expected.backward()
        assert abs(found[run] - expected) <= 1e-12
        slopes = {name: tensor.grad[run] for name, tensor in parameters.items()}
        full_Y, full_Z = plain.full_matrices(TASK, slopes["Y"], slopes["Z"])
        assert (full_Y - Y.grad[:, :M]).abs().max() <= 1e-12
        assert (full_Z - Z.grad[:, :M]).abs().max() <= 1e-12
        assert (slopes["Q"].T - Y.grad[:, M:]).abs().max() <= 1e-12
        rows = slice(TASK.contextual, TASK.contextual + TASK.num_last)
        assert (slopes["R"] - Z.grad[rows, M:]).abs().max() <= 1e-12
        assert min(slope.abs().max() for slope in slopes.values()) > 1e-4


def test_written_sequences_have_the_counts_of_the_batch():
    batch = positions.write_sequences(TASK, [3, 8], 2)
    for run, seed in enumerate([3, 8]):
        drawn = draw_counts(TASK, seed, 2)
        counts = [np.bincount(row, minlength=20) for row in batch.slots[run].numpy()]
        assert (np.stack(counts) == drawn.counts).all()
        assert (np.diff(batch.slots[run].numpy(), axis=1) < 0).any()  # not sorted
        assert (np.bincount(batch.classes[run], minlength=4) == np.diff(drawn.bounds)).all()


def test_training_equals_torch_sgd_on_the_plain_model():
    rates = torch.tensor([1.0, 2.0, 1.0, 2.0])
    optimizer = Optimizer("sgd", lr={"Y": 2 * rates, "Z": rates}, momentum=0.9)
    ensemble = Ensemble(
        start(),
        model.StreamBatches(TASK, [3, 8], torch.float64, "cpu"),
        optimizer,
        gradients=model.gradients,
    )
    trained = train(ensemble, 8)
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


def test_counts_are_those_of_independent_draws():
    """Mean, variance and covariance of the counts are the multinomial's."""
    task = Task(num_last=3, next_per_last=2)
    drawn = [draw_counts(task, 0, step) for step in range(100)]
    counts = torch.cat([torch.from_numpy(one.counts) for one in drawn]).double()
    chances = torch.from_numpy(model.TOKEN_CHANCES)
    assert (counts.sum(1) == 127).all()
    assert (counts.mean(0) / 127 - chances).abs().max() < 6e-4
    expected = 127 * (torch.diag(chances) - torch.outer(chances, chances))
    assert (torch.cov(counts.T) - expected).abs().max() < 0.25
    sizes = torch.stack([torch.from_numpy(one.bounds).diff() for one in drawn]).double()
    assert (sizes.sum(1) == 128).all()
    assert (sizes.mean(0) - 128 / 6).abs().max() < 1.5
    assert abs(sizes.var(0).mean() - 128 * 5 / 36) < 3
