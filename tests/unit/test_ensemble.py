"""What an ensemble promises: frozen runs, resumed trainings, random numbers of their own."""

import hashlib
import logging
import signal

import pytest
import torch

from onelayer.compute.checkpoint import Checkpoint
from onelayer.compute.ensemble import Ensemble, Optimizer, RunRandom, train, train_in_chunks
from onelayer.compute.execution import Execution
from tests.conftest import ROOT, StoppedError, run_script
from tests.steps import forking


def bowl(rates, labels=(), batch=lambda step: None):
    """f(x) = x^2 / 2 from x = 1: diverges where the rate exceeds 2."""
    rates = torch.tensor(rates)
    return Ensemble(
        {"x": torch.ones(len(rates), 2)},
        batch,
        Optimizer("sgd", lr=rates, momentum=0.5),
        loss=lambda parameters, _: parameters["x"].square().sum(1) / 2,
        labels=labels,
    )


def test_a_diverged_run_is_frozen_and_named_and_the_others_go_on(caplog):
    with caplog.at_level(logging.WARNING, logger="onelayer"):
        trained = train(bowl([0.1, 1e4, 0.2], ["lr 0.1", "lr 1e4", "lr 0.2"]), 100)
    alone = train(bowl([0.1, 0.2]), 100)
    assert trained.diverged_at.tolist()[::2] == [-1, -1]
    assert 0 < trained.diverged_at[1] < 100
    assert torch.equal(trained.parameters["x"][[0, 2]], alone.parameters["x"])
    assert torch.isfinite(trained.losses[:, [0, 2]]).all()
    at = int(trained.diverged_at[1])
    assert torch.isfinite(trained.losses[:at, 1]).all() and trained.losses[at:, 1].isnan().all()
    assert f"run 1 (lr 1e4): not finite at step {at}" in caplog.text
    assert len(caplog.records) == 1


def test_many_diverged_runs_are_counted_instead_of_named(caplog):
    with caplog.at_level(logging.WARNING, logger="onelayer"):
        train(bowl([1e4] * 40), 100)
    assert len(caplog.records) == 6
    assert "35 more runs" in caplog.text


def test_numbers_below_the_normal_ones_count_as_zero_in_training_and_nowhere_else():
    tiny = torch.full((1,), 1e-39)
    assert (tiny * 2 > 0).all()
    seen = train(
        Ensemble({"x": tiny}, lambda _: None, Optimizer(lr=0.0), loss=lambda p, _: p["x"] * 2), 1
    )
    assert seen.losses.tolist() == [[0.0]]
    assert (tiny * 2 > 0).all()


def test_numbers_that_counted_as_zero_before_a_training_do_so_after_it():
    torch.set_flush_denormal(True)
    try:
        train(bowl([0.1]), 1)
        assert not (torch.full((1,), 1e-39) * 2 > 0).any()
    finally:
        torch.set_flush_denormal(False)


def test_a_gradient_that_is_not_finite_freezes_its_run_though_the_loss_is():
    def gradients(parameters, _):
        slope = parameters["x"].clone()
        slope[1] = torch.nan
        return torch.ones(2), {"x": slope}

    start = {"x": torch.ones(2, 3)}
    trained = train(Ensemble(start, lambda _: None, Optimizer(lr=0.1), gradients=gradients), 5)
    assert trained.diverged_at.tolist() == [-1, 0]
    assert torch.equal(trained.parameters["x"][1], torch.ones(3))


@pytest.mark.parametrize("kind", ["sgd", "adam"])
def test_an_interrupted_training_goes_on_to_the_same_bytes(tmp_path, kind):
    random = RunRandom([0, 1, 2])
    stop_at = -1

    def batch(step):
        if step == stop_at:
            raise StoppedError
        return random.normal(4, use="x", step=step)

    def build():
        optimizer = Optimizer(kind, lr=[0.1, 0.2, 1e38], momentum=0.9)
        return Ensemble(
            {"w": torch.ones(3, 4)},
            batch,
            optimizer,
            loss=lambda p, x: (p["w"] * x).sum(1).square(),
        )

    options = {"observe_at": range(0, 21, 4), "loss_every": 3}
    expected = train(build(), 20, **options)
    path = tmp_path / "training.safetensors"
    often = Execution(checkpoint=Checkpoint(path, seconds=0))
    for stop_at in (1, 9, 17):  # noqa: B007, `batch` reads it
        with pytest.raises(StoppedError):
            train(build(), 20, execution=often, **options)
        assert path.exists()
    stop_at = -1
    for left in ([17, 18, 19], []):  # a finished one, too, goes on from where it was
        taken = []
        rest = Execution(
            checkpoint=Checkpoint(path),
            progress=lambda items, taken=taken, **_: taken.extend(items) or taken,
        )
        found = train(build(), 20, execution=rest, **options)
        assert taken == left
        assert torch.equal(found.parameters["w"], expected.parameters["w"])
        assert torch.equal(found.observed["w"], expected.observed["w"])
        assert torch.equal(found.losses.nan_to_num(-1), expected.losses.nan_to_num(-1))
        assert torch.equal(found.diverged_at, expected.diverged_at)


def test_a_finished_training_of_no_steps_is_looked_at_once(tmp_path):
    execution = Execution(checkpoint=Checkpoint(tmp_path / "training.safetensors"))
    for _ in range(2):
        trained = train(bowl([0.1]), 0, observe_at=[0], execution=execution)
        assert len(trained.observed["x"]) == 1


def test_a_checkpoint_of_another_training_is_not_taken_up(tmp_path):
    often = Execution(checkpoint=Checkpoint(tmp_path / "training.safetensors", seconds=0))

    def stop(step):
        if step == 3:
            raise StoppedError

    with pytest.raises(StoppedError):
        train(bowl([0.1], batch=stop), 9, execution=often)
    other = train(bowl([0.2]), 9)
    found = train(bowl([0.2]), 9, execution=often)
    assert torch.equal(found.parameters["x"], other.parameters["x"])


def test_a_broken_checkpoint_counts_as_none(tmp_path):
    path = tmp_path / "training.safetensors"
    path.write_bytes(b"\x10\x00\x00\x00\x00\x00\x00\x00{")
    found = train(bowl([0.1]), 3, execution=Execution(checkpoint=Checkpoint(path)))
    assert torch.equal(found.parameters["x"], train(bowl([0.1]), 3).parameters["x"])


KILLED = """
import os, signal, sys, torch
from pathlib import Path
from onelayer.compute.checkpoint import Checkpoint
from onelayer.compute.ensemble import Ensemble, Optimizer, RunRandom, train_in_chunks
from onelayer.compute.execution import Execution
stop_at, folder = int(sys.argv[1]), Path(sys.argv[2])
count = 0
def build(part):
    random = RunRandom(torch.arange(6)[part])
    def batch(step):
        global count
        count += 1
        if count == stop_at:
            os.kill(os.getpid(), signal.SIGKILL)
        return random.normal(5, use="x", step=step)
    return Ensemble({"w": random.normal(5, use="w")}, batch, Optimizer("adam", lr=0.01),
                    loss=lambda p, x: (p["w"] * x).sum(1).square())
execution = Execution(checkpoint=Checkpoint(folder / "c", seconds=0))
trained = train_in_chunks(build, 6, 3, 10, execution=execution)
(folder / "result").write_bytes(trained.parameters["w"].numpy().tobytes())
"""


def test_a_killed_chunk_goes_on_to_the_same_bytes(tmp_path):
    def start(stop_at, folder):
        folder.mkdir(exist_ok=True)
        return run_script(forking(), script, stop_at, folder, folder=ROOT).returncode

    script = tmp_path / "killed.py"
    script.write_text(KILLED)
    assert start(15, tmp_path / "killed") == 128 + signal.SIGKILL
    assert not (tmp_path / "killed/result").exists()
    # One chunk and four steps are done: six remain, so a stop at the seventh is never reached.
    assert start(7, tmp_path / "killed") == 0
    assert start(-1, tmp_path / "whole") == 0
    found = [(tmp_path / name / "result").read_bytes() for name in ("killed", "whole")]
    assert found[0] == found[1]
    assert {path.name for path in (tmp_path / "killed").iterdir()} == {"result", "c-0", "c-1"}


def test_a_runs_numbers_depend_on_its_seed_use_and_step_alone():
    all_runs, one = RunRandom(range(5)), RunRandom([3])
    for draw in ("uniform", "normal"):
        numbers = getattr(all_runs, draw)(7, use="x", step=4)
        assert torch.equal(numbers[3:4], getattr(one, draw)(7, use="x", step=4))
        assert not torch.equal(numbers, getattr(all_runs, draw)(7, use="x", step=5))
        assert not torch.equal(numbers, getattr(all_runs, draw)(7, use="y", step=4))
        assert len(numbers.unique()) == numbers.numel()


def test_random_numbers_are_uniform_normal_and_independent_between_runs():
    random = RunRandom(range(64))
    uniform = random.uniform(4096, use="u", dtype=torch.float64)
    assert uniform.min() >= 0 and uniform.max() < 1
    counts = torch.histc(uniform, 256, 0, 1)
    expected = uniform.numel() / 256
    assert ((counts - expected).square() / expected).sum() < 350  # chi^2, 255 degrees of freedom
    normal = random.normal(4096, use="n", dtype=torch.float64)
    moments = torch.tensor([normal.pow(k).mean() for k in (1, 2, 3, 4)])
    assert (moments - torch.tensor([0.0, 1, 0, 3])).abs().max() < 0.03
    correlation = torch.corrcoef(uniform) - torch.eye(64)
    assert correlation.abs().max() < 0.08
    assert (
        torch.corrcoef(torch.stack([uniform[:, 1:].ravel(), uniform[:, :-1].ravel()]))[0, 1].abs()
        < 0.01
    )
    steps = torch.stack([random.uniform(64, use="u", step=s).ravel() for s in range(64)])
    assert (torch.corrcoef(steps) - torch.eye(64)).abs().max() < 0.08
    integers = random.integers(6, 4096, use="i")
    shares = torch.bincount(integers.ravel(), minlength=6) / integers.numel()
    assert len(shares) == 6 and (shares - 1 / 6).abs().max() < 0.005


def test_flips_of_a_chance_near_one_are_true():
    random = RunRandom([0, 1])
    for chance in (1.0, 1 - 1e-6):
        flips = random.flips(chance, 5, 7, use="x")
        assert flips.shape == (2, 5, 7) and flips.dtype == torch.bool and flips.all()
    assert random.flips(1 - 2**-15, 99, use="x").float().mean() > 0.9
    assert not random.flips(0.0, 99, use="x").any()


def test_random_words_are_those_of_splitmix64():
    def mix(z):
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        return z ^ (z >> 31)

    weyl, seed, step = 0x9E3779B97F4A7C15, 12345, 7
    purpose = int.from_bytes(hashlib.sha256(b"x").digest()[:8], "little")
    key = mix((mix((seed * weyl % 2**64) ^ purpose) + step * weyl) % 2**64)
    expected = [mix((key + place * weyl) % 2**64) for place in (1, 2, 3)]
    found = RunRandom([seed]).words(3, use="x", step=step)[0].tolist()
    assert [word % 2**64 for word in found] == expected


@pytest.mark.parametrize(
    ("optimizer", "message"),
    [
        (Optimizer("rmsprop"), "kind: unknown rmsprop; known: sgd, adam, adamw"),
        (Optimizer(["sgd"]), "kind: 1 values for 3 runs"),
        (Optimizer(lr=[1.0, 2.0]), "lr: 2 values for 3 runs"),
        (Optimizer(lr={"y": 1.0}), "lr: needs a value for each of x; found y"),
        (Optimizer(lr=-1.0), "lr: must be at least 0"),
        (Optimizer(lr=float("nan")), "lr: must be at least 0"),
        (Optimizer(momentum=1.0), "momentum: must be at least 0 and less than 1"),
        (Optimizer(lr="fast"), "lr: must be a number, or one for each run; found 'fast'"),
        (Optimizer(None), "kind: must be one of sgd, adam, adamw; found None"),
        (Optimizer(schedule=0.5), "schedule: must be a function of the step, found 0.5"),
        (Optimizer(schedule=lambda t: [1, 2]), "schedule: 2 values for 3 runs"),
    ],
)
def test_settings_that_do_not_fit_are_named(optimizer, message):
    ensemble = Ensemble({"x": torch.ones(3, 1)}, lambda _: None, optimizer, loss=lambda p, _: p)
    with pytest.raises(ValueError, match=message):
        train(ensemble, 1)


def test_ensembles_that_make_no_sense_are_refused():
    start, optimizer = {"x": torch.ones(3, 1)}, Optimizer()
    with pytest.raises(ValueError, match="either a loss or gradients"):
        Ensemble(start, lambda _: None, optimizer)
    with pytest.raises(ValueError, match="run dimensions must agree"):
        Ensemble(start | {"y": torch.ones(2)}, lambda _: None, optimizer, loss=lambda p, _: p)
    with pytest.raises(ValueError, match="labels: 1 for 3 runs"):
        Ensemble(start, lambda _: None, optimizer, loss=lambda p, _: p, labels=["a"])
    good = bowl([0.1])
    with pytest.raises(ValueError, match=r"observe_at: must lie in 0 \.\. 5"):
        train(good, 5, observe_at=[6])
    with pytest.raises(ValueError, match="loss_every = 0"):
        train(good, 5, loss_every=0)
    with pytest.raises(ValueError, match="steps = -1: must be a whole number"):
        train(good, -1)
    with pytest.raises(ValueError, match="chunk = 0"):
        train_in_chunks(lambda part: good, 1, 0, 5)
    with pytest.raises(ValueError, match="none negative"):
        RunRandom([-1])
    with pytest.raises(ValueError, match="high = 0"):
        RunRandom([1]).integers(0, 3, use="x")


def square(parameters, _):
    return parameters["x"].square().sum(1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"optimizer": "adam"}, "optimizer: must be an onelayer.Optimizer, found str"),
        ({"parameters": [torch.ones(3)]}, "parameters: must be tensors by name, found list"),
        ({"parameters": {"x": torch.tensor(1.0)}}, r"x must be a tensor .*, found float32 \[\]"),
        ({"parameters": {"x": torch.ones(3, 2, dtype=int)}}, r"x must be .* found int64 \[3, 2\]"),
        ({"loss": lambda p, _: p["x"].mean()}, r"loss: one number per run is needed, \[3\]; found"),
        ({"loss": lambda p, _: p["x"]}, r"is needed, \[3\]; found float32 \[3, 2\]"),
        ({"loss": lambda p, _: 1.0}, r"is needed, \[3\]; found float"),
        ({"loss": lambda p, _: torch.ones(3)}, "loss: depends on no parameter"),
        ({"parameters": {"x": torch.ones(3, 2), "y": torch.ones(3)}}, "does not depend on y"),
        (
            {"loss": None, "gradients": square},
            r"\(loss, gradients\) is needed, found float32 \[3\]",
        ),
        ({"loss": None, "gradients": lambda p, _: (p["x"].sum(1), {})}, "each of x; found none"),
        (
            {"loss": None, "gradients": lambda p, _: (p["x"].sum(1), {"x": p["x"][0]})},
            r"gradients: x must be \[3, 2\], found float32 \[2\]",
        ),
    ],
)
def test_what_cannot_be_trained_is_one_line_before_anything_is_updated(change, message):
    parts = {"parameters": {"x": torch.ones(3, 2)}, "optimizer": Optimizer(), "loss": square}
    with pytest.raises(ValueError, match=message):
        train(Ensemble(**(parts | {"batch": lambda _: None} | change)), 2)


@pytest.mark.parametrize(
    ("seen", "message"),
    [
        (lambda p: p["x"], "observe: must be tensors by name"),
        (lambda p: {"mean": p["x"].mean()}, r"observe: mean must be \[2, \.\.\.\], found"),
    ],
)
def test_what_is_observed_has_a_row_for_each_run(seen, message):
    with pytest.raises(ValueError, match=message):
        train(bowl([0.1, 0.1]), 2, observe=seen, observe_at=[0])
