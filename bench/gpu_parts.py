"""What `make bench-gpu` runs that reads no text: sweeps, flows and trainings on made-up data."""

import numpy as np
import torch

from bench.gpu import FEWEST, Numbers, Part
from onelayer.compute.execution import Execution
from onelayer.papers.decision_lists import attention as lists
from onelayer.papers.local_to_global import canonical, integrator, training
from onelayer.papers.local_to_global.chain import Chain
from onelayer.papers.local_to_global.theory import grid
from onelayer.papers.scan_snap import simulation
from onelayer.papers.scan_snap.data import Task
from onelayer.papers.scan_snap.measures import SETTINGS, entropy_by_run
from onelayer.papers.scan_snap.text import Text
from onelayer.papers.scan_snap.text_training import train_language_model
from onelayer.papers.topic_structure.synthetic import data
from onelayer.papers.topic_structure.synthetic.training import Plan, Run, train_runs
from onelayer.settings import local_to_global, scan_snap
from onelayer.settings.decision_lists import SampledRun
from onelayer.settings.root import default_settings

SCAN_SNAP = default_settings().scan_snap
SYNTHETIC = default_settings().topic_structure.synthetic
LTG = default_settings().local_to_global
FLOAT = 4  # bytes
MOMENTUM, ADAM = 5, 7  # numbers read and written for each parameter


def _silent(items, **_):
    return items


def _on(device: str) -> Execution:
    return Execution(device, progress=_silent)


def entropy_sweep(small: bool) -> Part:
    """Fig. 6 of Scan and Snap."""
    grid = {"lr_Z": [0.5, 1.0, 2.0, 3.0], "lr_Y_multiplier": [1.0, 2.0, 5.0, 10.0]}
    return _sweep("entropy sweep", {"num_last": [1, 2] if small else [1, 3, 5, 10]} | grid, small)


def phase_map(small: bool) -> Part:
    """The map over 400 pairs of learning rates."""
    points = 2 if small else 20
    rates = {
        "lr_Z": {"low": 0.1, "high": 10, "points": points},
        "lr_Y_multiplier": {"low": 0.1, "high": 30, "points": points},
    }
    return _sweep("phase map", {"num_last": [3]} | rates, small)


def _sweep(name: str, sizes: dict, small: bool) -> Part:
    common = {"next_per_last": 2, "initial": "uniform", "seeds": 2 if small else 10}
    settings = SCAN_SNAP.entropy_sweep.but(**sizes, **common, iterations=100)
    pairs = len(settings.rates("lr_Z")) * len(settings.rates("lr_Y_multiplier"))
    tasks = [Task(num_last, settings.next_per_last) for num_last in settings.num_last]

    def run(device: str, steps: int) -> Numbers:
        asked = settings.model_copy(update={"iterations": steps})
        found = entropy_by_run(simulation.simulate(asked, _on(device)))
        last = found[found["iteration"] == found["iteration"].max()]
        seeds = last.pivot_table(index=SETTINGS, columns="seed", values="entropy", dropna=False)
        return {"entropy": seeds.to_numpy()}

    runs = pairs * settings.seeds * len(tasks)
    weights = float(np.mean([task.contextual * task.vocabulary for task in tasks]))
    label = f"scan and snap, {name}, {runs:,} runs"
    return Part(label, 5 if small else 100, runs, run, FLOAT * MOMENTUM * weights)


def synthetic_topics(small: bool) -> Part:
    """The authors' model under Adam, as in the published table."""
    rng = np.random.default_rng(0)
    vocabulary = data.Vocabulary(3, 4) if small else data.Vocabulary(10, 10)
    count, runs = (40, 2) if small else (10_000, 30)
    weights = rng.dirichlet(np.full(vocabulary.T, 0.1), count)
    tokens = data.draw_documents(rng, vocabulary, weights, (15, 20), framed=True)
    shown, selected = data.mask_documents(rng, vocabulary, tokens, SYNTHETIC.model)
    rows = data.count_rows(vocabulary, tokens, shown, selected, masked_attended=False)
    D = vocabulary.size

    def run(device: str, steps: int) -> Numbers:
        plan = Plan(8 if small else 40, 20, steps, "layer_norm", "cross_entropy")
        asked = [Run(seed, "adam", 0.003) for seed in range(runs)]
        seen = train_runs(rows, asked, plan, lambda p: {"W": p["W_V"]}, execution=_on(device))
        norms = torch.linalg.matrix_norm(seen.observed["W"][-1])
        return {"loss": seen.losses[-1].numpy(), "norm of W_V": norms.numpy()}

    label = f"synthetic topics, {runs} runs"
    return Part(label, 11 if small else 1500, runs, run, FLOAT * ADAM * 3 * D * D)


def transformers(small: bool) -> Part:
    """Three starts of the transformer of Local to Global."""
    T, seeds = (16, 2) if small else (256, 5)
    group = [local_to_global.Variant(name=one, initialisation=one) for one in training.STARTS]

    def run(device: str, steps: int) -> Numbers:
        own = LTG.transformer.training.but(
            sequence_length=T, batch=2 if small else 16, iterations=steps
        )
        settings = local_to_global.EnsembleSettings.of_fields(
            LTG.transformer,
            chain=local_to_global.ChainSettings(p=0.5, q=0.8),
            training=own,
            seeds=seeds,
            evaluate_every=steps,
            evaluate_on=4,
        )
        trained = training.train_group(group, settings, execution=_on(device))
        return {"loss": trained.observed["loss"][-1].reshape(len(group), seeds).numpy()}

    weights = 12 * 8 * 8 + T * 8
    label = f"local to global, {3 * seeds} transformers, {T} inputs"
    return Part(label, 3 if small else 500, 3 * seeds, run, FLOAT * ADAM * weights)


def basin_map(small: bool) -> Part:
    """One chain's map of 200 x 200 starts."""
    chain, points = Chain(0.5, 0.8), 4 if small else 200
    start = torch.from_numpy(grid(3.0, points))

    def run(device: str, steps: int) -> Numbers:
        ends = integrator.integrate(
            lambda theta: canonical.flow(theta, chain), start.to(device), max_steps=steps
        )
        return {"exactly theta": ends.theta.cpu().numpy()}

    # A trajectory's state and its rates at seven stages, read and written once a step.
    steps, state = 30 if small else 5_000, 8 * 2 * 2 * 9
    return Part(f"basin map, {points**2:,} starts", steps, points**2, run, state, counted=0)


def decision_lists(small: bool) -> Part:
    """The sampled flow of one size, from five seeds; every device draws its own sequences."""
    sizes = {"L": 8, "n": 3, "m": 2, "batch": 16} if small else {"L": 64, "n": 8, "m": 2}
    seeds = 2 if small else 5

    def run(device: str, steps: int) -> Numbers:
        block = SampledRun(**sizes, method="sampled", record_every=20, max_steps=steps)
        flows = [lists.train(lists.AttentionRun(block, s), _on(device)) for s in range(seeds)]
        return {"loss": np.array([flow.history["loss"].iloc[-1] for flow in flows])}

    block = SampledRun(**sizes, method="sampled")
    # Two gradients a step: an index and a score of each pair, and W.
    traffic = 2 * (16 * block.batch * block.n**2 + 16 * block.L**2)
    label = f"decision lists, sampled flow, L {block.L}"
    return Part(label, 20 if small else 1000, seeds, run, traffic, counted=0)


def language_model(small: bool) -> Part:
    """The language model of Scan and Snap on words with Zipf's frequencies."""
    sizes = {"vocabulary": 100, "width": 8, "hidden": 8} if small else {}
    own = scan_snap.TextTrainingSettings(name="sgd", optimizer="sgd", lr=5, lr_feed_forward=10)

    def settings(steps: int) -> scan_snap.LanguageModelSettings:
        return SCAN_SNAP.language_model.but(
            **({"vocabulary": 1000, "width": 200, "hidden": 200} | sizes),
            iterations=steps,
            measure_every=steps,
            maps_at=[0],
            seeds=2 if small else 3,
            corpus="none",
            trainings=[own],
        )

    one = settings(FEWEST)
    rng, V = np.random.default_rng(0), one.vocabulary
    chances = 1 / np.arange(1, V + 1)
    words = rng.choice(V, 40_000, p=chances / chances.sum())
    held_out = words[: 2 * (one.length + 1)].reshape(2, -1)
    text = Text([f"word{word}" for word in range(V)], words, held_out)

    def run(device: str, steps: int) -> Numbers:
        trained = train_language_model(text, settings(steps), _on(device))
        return {name: trained.observed[name][-1].numpy() for name in ("loss", "entropy")}

    weights = 2 * V * one.width + 4 * one.width**2 + 2 * one.width * one.hidden
    label = f"text model, {one.seeds} seeds, {V:,} words"
    steps, traffic = FEWEST if small else 500, FLOAT * 3 * weights
    return Part(label, steps, one.seeds, run, traffic, counted=FEWEST)
