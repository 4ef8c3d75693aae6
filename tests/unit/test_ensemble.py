"""Many models trained as one equal the same models trained alone, killed and resumed or not."""

import numpy as np
import pytest
import torch

from onelayer.ensemble import Ensemble, Optimizer, RunRandom, train, train_in_chunks
from onelayer.ensemble.execution import Checkpoint, Execution
from onelayer.seeds import stable_seed

RUNS, STEPS = 4, 12
SEED_OF_BOOTSTRAP = 1374266645
SEEDS = torch.tensor([0, 1, 2, 3])


def ensemble(optimizer, rows=slice(None)):
    random = RunRandom(SEEDS[rows])

    def batch(step):
        return random.normal(8, 5, use="inputs", step=step, dtype=torch.float64)

    def loss(parameters, x):
        return ((x @ parameters["W"].mT + parameters["b"][:, None]) ** 2).mean(dim=(1, 2))

    parameters = {
        "W": random.normal(3, 5, use="W", dtype=torch.float64),
        "b": random.normal(3, use="b", dtype=torch.float64),
    }
    return Ensemble(parameters, batch, optimizer, loss=loss)


OPTIMIZERS = {
    "sgd": ({"kind": "sgd", "lr": 0.1, "momentum": 0.9, "weight_decay": 0.01}, torch.optim.SGD),
    "adam": ({"kind": "adam", "lr": 0.05, "beta2": 0.95, "weight_decay": 0.01}, torch.optim.Adam),
    "adamw": ({"kind": "adamw", "lr": 0.05, "beta2": 0.95, "weight_decay": 0.1}, torch.optim.AdamW),
}


@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_each_run_equals_torch_on_a_single_model(kind):
    settings, theirs = OPTIMIZERS[kind]
    trained = train(ensemble(Optimizer(**settings)), STEPS)
    for run in range(RUNS):
        alone = ensemble(Optimizer(**settings), slice(run, run + 1))
        single = {name: t[0].clone().requires_grad_() for name, t in alone.parameters.items()}
        options = {"lr": settings["lr"], "weight_decay": settings["weight_decay"]}
        if kind == "sgd":
            options["momentum"] = settings["momentum"]
        else:
            options["betas"] = (0.9, settings["beta2"])
        optimizer = theirs(single.values(), **options)
        for step in range(STEPS):
            optimizer.zero_grad()
            x = alone.batch(step)[0]
            ((x @ single["W"].T + single["b"]) ** 2).mean().backward()
            optimizer.step()
        for name in single:
            torch.testing.assert_close(trained.parameters[name][run], single[name].detach())


def test_kinds_rates_and_schedules_may_differ_by_run():
    mixed = Optimizer(
        kind=["sgd", "adam", "sgd", "adam"],
        lr={"W": [0.1, 0.05, 0.2, 0.01], "b": 0.1},
        schedule=lambda t: [1, 0.5, 1, 1 / (t + 1)],
    )
    trained = train(ensemble(mixed), STEPS)
    for run, kind in enumerate(mixed.kind):
        rows = slice(run, run + 1)
        alone = Optimizer(
            kind=kind,
            lr={"W": mixed.lr["W"][run], "b": 0.1},
            schedule=lambda t, run=run: mixed.schedule(t)[run],
        )
        single = train(ensemble(alone, rows), STEPS)
        torch.testing.assert_close(trained.parameters["W"][rows], single.parameters["W"])


def test_chunks_are_one_ensemble():
    whole = train(ensemble(Optimizer(lr=0.1)), STEPS, observe_at=[0, STEPS])
    parts = train_in_chunks(
        lambda rows: ensemble(Optimizer(lr=0.1), rows), RUNS, 3, STEPS, observe_at=[0, STEPS]
    )
    torch.testing.assert_close(parts.observed["W"], whole.observed["W"])
    torch.testing.assert_close(parts.losses, whole.losses)


def test_a_run_that_diverges_is_frozen_and_no_other_notices(caplog):
    wild = train(ensemble(Optimizer(lr=[1e200, 0.1, 0.1, 0.1])), STEPS)
    calm = train(ensemble(Optimizer(lr=0.1)), STEPS)
    assert wild.diverged_at[0] > 0
    assert (wild.diverged_at[1:] == -1).all()
    assert "run 0: not finite" in caplog.text
    assert torch.equal(wild.parameters["W"][1:], calm.parameters["W"][1:])
    assert torch.isfinite(wild.parameters["W"]).all()
    assert torch.isnan(wild.losses[-1, 0])


def test_the_only_run_may_diverge():
    alone = Ensemble(
        {"W": torch.ones(1, 3)},
        lambda step: None,
        Optimizer(lr=1e30),
        loss=lambda p, _: p["W"].square().sum(1),
    )
    assert train(alone, 9).diverged_at[0] > 0


@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_a_frozen_run_keeps_what_it_had_whatever_its_gradients_and_state_are(kind):
    def gradients(parameters, step):
        of_first = [0.1, 1e30, torch.nan, torch.nan, 0.1][step]  # 1e30 squared is infinite
        gradient = torch.tensor([of_first, 0.1])[:, None].expand(2, 3).clone()
        return gradient.mean(dim=1), {"W": gradient}

    settings = OPTIMIZERS[kind][0] | {"weight_decay": 0}
    start = {"W": torch.ones(2, 3)}
    of = Ensemble(start, lambda step: step, Optimizer(**settings), gradients=gradients)
    trained = train(of, 5, observe_at=[2, 5])
    assert trained.diverged_at.tolist() == [2, -1]
    assert torch.equal(trained.observed["W"][0, 0], trained.observed["W"][1, 0])
    assert torch.isfinite(trained.parameters["W"][0]).all()
    assert trained.losses[:, 0].isnan().tolist() == [False, False, True, True, True]
    assert torch.isfinite(trained.parameters["W"][1]).all()


def test_a_killed_training_goes_on_to_the_same_bytes(tmp_path):
    def killed(items, **_):
        for item in items:
            if item == 7:
                raise KeyboardInterrupt
            yield item

    options = {"observe_at": [0, 3, STEPS]}
    whole = train(ensemble(Optimizer("adam", lr=0.1)), STEPS, **options)
    kept = Checkpoint(tmp_path / "state", "this", seconds=0)
    with pytest.raises(KeyboardInterrupt):
        train(
            ensemble(Optimizer("adam", lr=0.1)),
            STEPS,
            execution=Execution(checkpoint=kept, progress=killed),
            **options,
        )
    seen = []

    def watched(items, **_):
        for item in items:
            seen.append(item)
            yield item

    execution = Execution(checkpoint=kept, progress=watched)
    resumed = train(ensemble(Optimizer("adam", lr=0.1)), STEPS, execution=execution, **options)
    assert seen == list(range(7, STEPS))
    assert torch.equal(resumed.parameters["W"], whole.parameters["W"])
    assert torch.equal(resumed.observed["W"], whole.observed["W"])
    assert torch.equal(resumed.losses, whole.losses)
    assert [path.name for path in tmp_path.iterdir()] == ["state"]  # written whole, then moved
    # Another training does not go on from it.
    seen.clear()
    execution = Execution(checkpoint=Checkpoint(kept.path, "that", seconds=0), progress=watched)
    train(ensemble(Optimizer("adam", lr=0.2)), STEPS, execution=execution, **options)
    assert seen == list(range(STEPS))


def test_random_numbers_belong_to_run_use_and_step():
    random, alone = RunRandom([3, 5]), RunRandom([5])
    both = random.uniform(1000, use="a", dtype=torch.float64)
    assert torch.equal(both[1:], alone.uniform(1000, use="a", dtype=torch.float64))
    draws = [both[0], both[1]]
    draws += [random.uniform(1000, use="b", dtype=torch.float64)[0]]
    draws += [random.uniform(1000, use="a", step=1, dtype=torch.float64)[0]]
    correlations = np.corrcoef(np.array([d.numpy() for d in draws])) - np.eye(4)
    assert abs(correlations).max() < 0.12


def test_a_seed_depends_on_where_its_parts_end_and_is_the_same_for_ever():
    assert stable_seed("a", "b") != stable_seed("ab") != stable_seed("a", "", "b")
    assert stable_seed("bootstrap", 0) == SEED_OF_BOOTSTRAP


def test_uniform_numbers_are_the_first_bits_of_words_that_are_the_same_for_ever():
    random = RunRandom([3])
    words = random.words(4, use="a")[0].tolist()
    assert words[0] == -3627069737881286433
    assert random.uniform(4, use="a")[0].tolist() == [(w % 2**64 >> 40) / 2**24 for w in words]


def test_draws_have_their_distributions():
    random = RunRandom([0])
    normal = random.normal(100_000, use="n", dtype=torch.float64)
    assert abs(float(normal.mean())) < 0.015
    assert abs(float(normal.std()) - 1) < 0.01
    counts = torch.bincount(random.integers(7, 70_000, use="i")[0], minlength=7)
    assert (counts - 10_000).abs().max() < 500
    assert abs(float(random.flips(0.3, 100_000, use="f").double().mean()) - 0.3) < 0.01


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        ({"kind": "sdg"}, "kind: unknown sdg; known: sgd, adam, adamw"),
        ({"lr": [0.1, 0.2]}, "lr: 2 values for 4 runs"),
        ({"lr": {"W": 0.1}}, "lr: needs a value for each of W, b; found W"),
    ],
)
def test_settings_that_do_not_fit_are_named(settings, fault):
    with pytest.raises(ValueError, match=fault):
        train(ensemble(Optimizer(**settings)), 1)
