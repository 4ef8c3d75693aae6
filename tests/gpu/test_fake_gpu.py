"""No step on a GPU makes the host wait, and its numbers are the CPU's; on a device that is none."""

import types
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
import torch

from onelayer.compute import graphs
from onelayer.compute.checkpoint import Checkpoint
from onelayer.compute.device import to_device
from onelayer.compute.ensemble import Ensemble, Optimizer, RunRandom, train
from onelayer.compute.ensemble import training as loop
from onelayer.compute.execution import Execution
from onelayer.errors import OnelayerError
from onelayer.papers.decision_lists import attention as decision_lists
from onelayer.papers.decision_lists.attention import AttentionRun
from onelayer.papers.decision_lists.data import enumerate_sequences, lists_of_seed
from onelayer.papers.decision_lists.full import LOOK_EVERY, GpuTraining, Sampler, heun
from onelayer.papers.local_to_global import attention, canonical, integrator
from onelayer.papers.local_to_global.chain import Chain
from onelayer.papers.local_to_global.theory import grid
from onelayer.papers.local_to_global.training import train_group
from onelayer.papers.scan_snap import simulation
from onelayer.papers.scan_snap.text import Text
from onelayer.papers.scan_snap.text_training import train_language_model
from onelayer.papers.topic_structure.synthetic import data
from onelayer.papers.topic_structure.synthetic.training import Plan, Run, train_runs
from onelayer.papers.topic_structure.wikipedia.probe.attention import probe_articles
from onelayer.papers.topic_structure.wikipedia.probe.labels import Variant
from onelayer.papers.topic_structure.wikipedia.probe.packed import ACROSS, WITHIN, probe_inputs
from onelayer.papers.topic_structure.wikipedia.probe.pairs import Labels
from onelayer.settings import local_to_global, scan_snap
from onelayer.settings.decision_lists import DescentRun, SampledRun
from onelayer.settings.pretraining import AdamWSettings
from onelayer.settings.root import default_settings
from onelayer.text.models.checkpoints import load_checkpoint
from onelayer.text.models.families import FAMILIES
from onelayer.text.models.tokenizer import load_tokenizer
from onelayer.text.pretraining import training as pretraining
from onelayer.text.pretraining.objectives import new_objective
from tests.conftest import StoppedError, stopping_at
from tests.fake_gpu import DEVICE, FakeGpu, Graph, fake_gpu
from tests.tiny_models import save_tiny
from tests.tiny_text import task

LTG = default_settings().local_to_global
SCAN_SNAP = default_settings().scan_snap
SYNTHETIC = default_settings().topic_structure.synthetic
PROBED = default_settings().probe.attention
ASKED = {"copy to the host": 1}
GPU = Execution(DEVICE)
GENERATOR = torch.Generator


@pytest.fixture
def gpu(monkeypatch):
    """A GPU that is none, with graphs and 1 GB of memory."""
    memory = types.SimpleNamespace(total_memory=2**30)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: memory)
    # Tensors that are wrapped know no inference mode.
    monkeypatch.setattr(torch, "inference_mode", torch.no_grad)
    with fake_gpu() as device:
        monkeypatch.setitem(graphs.GRAPHS, DEVICE, (device.new_graph, Graph.captured))
        yield device


@pytest.fixture
def waits(gpu, monkeypatch) -> Callable:
    """Makes a method note what the host waited for in each of its calls."""

    def watched(owner: object, name: str) -> list[dict[str, int]]:
        found, method = [], getattr(owner, name)

        def counting(*args, **kwargs):
            gpu.forget()
            result = method(*args, **kwargs)
            found.append(dict(gpu.waits))
            return result

        monkeypatch.setattr(owner, name, counting)
        return found

    return watched


def close(ours, theirs, tolerance: float = 1e-5) -> None:
    """Whether numbers agree, NaN for NaN."""
    ours, theirs = (torch.as_tensor(part) for part in (ours, theirs))
    assert ours.device.type == "cpu"
    torch.testing.assert_close(ours, theirs, rtol=tolerance, atol=1e-6, equal_nan=True)


RATES = [0.1, 0.05, 1e30, 0.02]  # the third run diverges
OPTIMIZERS = {
    "momentum": Optimizer("sgd", lr=RATES, momentum=0.9, weight_decay=0.01),
    "adam": Optimizer("adam", lr=RATES, clip=0.5),
    "adamw": Optimizer("adamw", lr=RATES, weight_decay=0.1, schedule=lambda t: 1 / (t + 1)),
    "mixed": Optimizer(["sgd", "adam", "sgd", "adamw"], lr=RATES, momentum=0.9),
}


def ensemble(device: str, optimizer: Optimizer) -> Ensemble:
    random = RunRandom(range(4), device)
    return Ensemble(
        {"W": random.normal(3, 5, use="W"), "b": random.normal(3, use="b")},
        lambda step: random.uniform(8, 5, use="x", step=step),
        optimizer,
        loss=lambda p, x: (x @ p["W"].mT + p["b"][:, None]).square().mean(dim=(1, 2)).square(),
    )


def trained(device: str, name: str, steps: int = 12, **options):
    observed = {"observe_at": range(0, steps + 1, 5), "loss_every": 3}
    return train(ensemble(device, OPTIMIZERS[name]), steps, **observed, **options)


def same(ours, theirs) -> None:
    """Whether two trainings left the same."""
    assert torch.equal(ours.diverged_at, theirs.diverged_at)
    assert ours.observed_at == theirs.observed_at
    for part in ("parameters", "observed"):
        for name, tensor in getattr(theirs, part).items():
            close(getattr(ours, part)[name], tensor)
    close(ours.losses, theirs.losses)


@pytest.mark.parametrize(("name", "graphed"), [*((n, True) for n in OPTIMIZERS), ("adamw", False)])
def test_an_ensemble_gives_the_same_on_a_gpu_and_no_step_waits(
    gpu, waits, name, graphed, monkeypatch
):
    if not graphed:
        monkeypatch.delitem(graphs.GRAPHS, DEVICE)
    steps = waits(loop._GpuRun, "advance")
    same(trained(DEVICE, name), trained("cpu", name))
    assert steps == [{}] * 11 + [ASKED]  # at the end: which runs diverged
    assert gpu.replayed == (9 if graphed else 0)


def test_a_diverged_run_is_named_on_a_gpu_too(gpu, caplog):
    trained(DEVICE, "momentum")
    ours, caplog.records[:] = caplog.messages, []
    trained("cpu", "momentum")
    assert ours == caplog.messages


def test_a_killed_training_goes_on_to_the_same_numbers_on_a_gpu(gpu, tmp_path):
    state = Checkpoint(tmp_path / "state", "it", seconds=0)
    with pytest.raises(StoppedError):
        trained(DEVICE, "adamw", execution=Execution(checkpoint=state, progress=stopping_at(7)))
    same(trained(DEVICE, "adamw", execution=Execution(checkpoint=state)), trained("cpu", "adamw"))


def test_a_step_that_cannot_be_written_down_runs_kernel_by_kernel(gpu, caplog):
    counted = torch.zeros(3, device=DEVICE)

    def step(x):
        counted.add_(x)
        return counted.sum().item()

    graphed = graphs.Graphed(step, DEVICE)
    assert [graphed(torch.ones(3, device=DEVICE)) for _ in range(6)] == [3, 6, 9, 12, 15, 18]
    assert caplog.messages == [
        "no CUDA graph of this step, which goes on kernel by kernel: "
        "aten._local_scalar_dense.default while a graph is captured"
    ]


def test_a_graph_reads_the_inputs_of_each_step(gpu):
    graphed = graphs.Graphed(lambda pair: {"sum": pair[0] + pair[1]["x"]}, DEVICE)
    for number in range(6):
        x = torch.full((2,), float(number), device=DEVICE)
        assert graphed((x, {"x": x}))["sum"].tolist() == [2 * number] * 2
    assert gpu.replayed == 3
    assert graphed((x, {"x": x[:1]}))["sum"].tolist() == [10, 10]  # another shape
    assert gpu.replayed == 3


def test_the_device_that_is_none_sees_what_a_gpu_would_wait_for(gpu: FakeGpu):
    x = torch.arange(4.0).to(DEVICE)
    for wait in (
        lambda: bool((x > 0).all()),
        lambda: float(x[0]),
        lambda: x.cpu(),
        lambda: x[x > 1],
        lambda: x[torch.tensor(1, device=DEVICE)],
        lambda: x.new_tensor([1.0, 2.0]),
        lambda: torch.from_numpy(np.ones(3)).to(DEVICE),
        lambda: x.nonzero(),
        lambda: x.__setitem__(x > 1, 0),
    ):
        gpu.forget()
        wait()
        assert gpu.waits
    gpu.forget()
    (x * 2 + 1).masked_fill_(x > 1, 0)[1:].sum()
    assert not gpu.waits
    with pytest.raises(RuntimeError, match="of the device and of the host"):
        x + torch.ones(4)


CHAIN = Chain(0.5, 0.8)


def test_trajectories_on_a_gpu_end_where_they_do_on_the_cpu(gpu, waits):
    start = torch.from_numpy(grid(3.0, 4))

    def field(theta):
        return canonical.flow(theta, CHAIN)

    here = integrator.integrate(field, start, max_steps=50)
    gpu.forget()
    there = integrator.integrate(field, start.to(DEVICE), max_steps=50)
    for name in ("theta", "time", "steps", "at_rest"):
        close(getattr(there, name).cpu(), getattr(here, name), tolerance=1e-12)
    looks = -(-int(here.steps.max()) // integrator._LOOK_EVERY) + 2
    assert gpu.waits["aten._local_scalar_dense.default"] <= looks
    assert gpu.replayed > here.steps.max() / 2


@pytest.mark.parametrize("layer_norm", [False, True])
def test_transformers_train_to_the_same_on_a_gpu(gpu, waits, layer_norm):
    own = LTG.transformer.training.but(
        sequence_length=12, batch=4, iterations=12, layer_norm=layer_norm
    )
    group = [
        local_to_global.Variant(name=start, initialisation=start) for start in ("standard", "paper")
    ]
    settings = local_to_global.EnsembleSettings.of_fields(
        LTG.transformer,
        chain=local_to_global.ChainSettings(p=0.5, q=0.8),
        training=own,
        seeds=2,
        evaluate_every=6,
        evaluate_on=4,
    )
    steps = waits(loop._GpuRun, "advance")
    same(train_group(group, settings, execution=GPU), train_group(group, settings))
    assert steps == [{}] * 11 + [ASKED]
    assert gpu.replayed == 9


def test_attention_in_large_pieces_is_attention_in_small_ones(gpu, monkeypatch):
    random = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(2, 20, 2, 4, generator=random) for _ in range(3))
    x = torch.rand(2, 3, 20, generator=random) < 0.5

    def found(device: str):
        leaves = [part.to(device).requires_grad_() for part in (q, k, v)]
        mixed = attention.attention(*leaves, x.to(device))
        return [mixed, *torch.autograd.grad(mixed.square().sum(), leaves)]

    for ours, theirs in zip(found(DEVICE), found("cpu"), strict=True):
        close(ours.detach().cpu(), theirs.detach())


@pytest.mark.parametrize("num_last", [1, 3])
def test_scan_and_snap_is_the_same_on_a_gpu_in_few_products(gpu, waits, num_last):
    settings = SCAN_SNAP.entropy_sweep.but(
        num_last=[num_last],
        next_per_last=2,
        lr_Z=[0.5, 2.0],
        lr_Y_multiplier=[1.0],
        initial="uniform",
        seeds=3,
        iterations=12,
    )
    steps = waits(loop._GpuRun, "advance")
    ours = simulation.simulate(settings, GPU)
    pd.testing.assert_frame_equal(ours, simulation.simulate(settings), rtol=1e-4, atol=1e-6)
    assert steps == [{}] * 11 + [ASKED]
    assert gpu.replayed == 9


def test_scan_and_snap_with_positions_is_the_same_on_a_gpu(gpu, waits):
    settings = SCAN_SNAP.entropy_sweep.but(
        num_last=[2], next_per_last=1, length=16, batch=8, lr_Z=[1.0], lr_Y_multiplier=[2.0],
        initial="uniform", seeds=2, iterations=12,
    )  # fmt: skip
    steps = waits(loop._GpuRun, "advance")
    ours = simulation.simulate(settings, GPU, with_positions=True)
    theirs = simulation.simulate(settings, with_positions=True)
    pd.testing.assert_frame_equal(ours, theirs, rtol=1e-4, atol=1e-6)
    assert steps == [{}] * 11 + [ASKED]


@pytest.mark.parametrize("embedding", ["one_hot", "layer_norm"])
def test_synthetic_topics_train_to_the_same_on_a_gpu(gpu, waits, embedding):
    rng, vocabulary = np.random.default_rng(0), data.Vocabulary(3, 4)
    weights = rng.dirichlet(np.full(vocabulary.T, 0.1), 30)
    tokens = data.draw_documents(rng, vocabulary, weights, (15, 20), framed=True)
    shown, selected = data.mask_documents(rng, vocabulary, tokens, SYNTHETIC.model)
    rows = data.count_rows(vocabulary, tokens, shown, selected, masked_attended=False)
    runs = [Run(seed, kind, 0.01) for kind in ("adam", "sgd") for seed in (0, 1)]
    plan = Plan(8, 3, 12, embedding, "cross_entropy")
    steps = waits(loop._GpuRun, "advance")

    def seen(parameters):
        return {"W_V": parameters["W_V"]}

    ours = train_runs(rows, runs, plan, seen, execution=GPU)
    same(ours, train_runs(rows, runs, plan, seen))
    # One program of all four runs, where the CPU has chunks of three.
    assert steps == [{}] * 11 + [ASKED]
    assert gpu.replayed == 9


def test_the_language_model_trains_to_the_same_on_a_gpu(gpu, waits):
    training = scan_snap.TextTrainingSettings(
        name="a", optimizer="sgd", lr=0.5, lr_feed_forward=0.5
    )
    settings = SCAN_SNAP.language_model.but(
        vocabulary=100,
        width=8,
        hidden=8,
        length=6,
        batch=3,
        dropout=0.3,
        iterations=6,
        measure_every=3,
        maps_at=[0],
        seeds=2,
        corpus="none",
        trainings=[training],
    )
    words = np.random.default_rng(0).integers(2, 100, 400)
    text = Text([str(word) for word in range(100)], words, words[:35].reshape(5, 7))
    steps = waits(loop._GpuRun, "advance")
    same(train_language_model(text, settings, GPU), train_language_model(text, settings))
    assert steps == [{}] * 5 + [ASKED]


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_pretraining_is_the_same_on_a_gpu_and_no_batch_waits(gpu, waits, family):
    settings, words, training, held_out = task(family, tokens=700)

    def trained(execution: Execution):
        objective = new_objective(family, settings.size, words, settings.objective, settings.seed)
        return pretraining.train(objective, training, held_out, settings, execution)

    batches = waits(pretraining, "_train_on")
    ours = trained(GPU)
    assert batches and not any(batches)
    theirs = trained(Execution())
    assert list(ours.history) == list(theirs.history)
    first = [value for (tokens, *_), value in ours.history.items() if tokens == 0]
    close(first, list(theirs.history.values())[: len(first)])
    # AdamW makes steps of one size of gradients that are nothing but rounding.
    assert list(ours.history.values()) == pytest.approx(list(theirs.history.values()), abs=0.05)
    assert ours.snapshots.keys() == theirs.snapshots.keys()


def test_gradients_that_blow_up_on_a_gpu_are_named_by_their_batch(gpu):
    def message(execution: Execution) -> str:
        optimizer = AdamWSettings(learning_rate=1e30, warmup=0)
        settings, words, training, held_out = task("bert", tokens=700, optimizer=optimizer)
        objective = new_objective("bert", settings.size, words, settings.objective, 0)
        with pytest.raises(OnelayerError, match="gradients are not finite after") as found:
            pretraining.train(objective, training, held_out, settings, execution)
        return str(found.value)

    assert message(GPU) == message(Execution())


@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_the_probe_on_a_gpu_gives_the_cpus_sums_and_copies_no_attention(gpu, name, tmp_path):
    folder = save_tiny(name, tmp_path / "tiny")
    words = ["frog", "toad", "pond", "bach", "mozart", "opera"]
    kept = pd.DataFrame({"word": words, "topic": [0, 0, 0, 1, 1, 1]})
    kept = kept.assign(overlap="disjoint", threshold="top 3", probability=0.1)
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice([*words, "the"], size)) for size in (9, 4, 9, 6, 9, 3)]
    articles = pd.DataFrame({"id": [str(place) for place in range(len(texts))], "text": texts})

    def probed(device: str):
        return probe_articles(
            load_checkpoint(folder).to(device),
            load_tokenizer(folder),
            articles,
            kept,
            PROBED.but(max_tokens=32, reference_length=10),
        )

    theirs = probed("cpu")
    gpu.forget()
    ours = probed(DEVICE)
    for own in ("head_sums", "distance_sums", "distance_counts"):
        close(getattr(ours, own), getattr(theirs, own), tolerance=1e-6)
    for own in ("query", "key", "sums", "counts"):
        close(getattr(ours.word_pairs, own), getattr(theirs.word_pairs, own), tolerance=1e-6)
    assert len(gpu.downloads) == 4  # one of each length


def test_what_reads_one_text_at_a_time_reads_it_on_a_gpu_too(gpu, tmp_path):
    folder, articles = save_tiny("bert", tmp_path / "tiny"), np.array([0, 1, 0, 1, 0])
    labels = Labels(("frog", "toad", "bach"), np.array([[[1, 0], [1, 0], [0, 1]]], dtype=bool))
    label_of = np.full(12, -1)
    label_of[5:8] = range(3)
    inputs = [(np.array(ids), articles) for ids in ([5, 6, 7, 5, 6], [6, 7, 8, 5, 7])]

    def probed(device: str):
        given = inputs, labels, [Variant("disjoint", "top 2")], label_of, 7
        return probe_inputs(load_checkpoint(folder).to(device), *given)

    theirs, ours = probed("cpu"), probed(DEVICE)
    assert list(ours) == list(theirs) == [WITHIN, ACROSS]
    for pairs, own in ours.items():
        close(own.head_sums, theirs[pairs].head_sums, tolerance=1e-6)


@pytest.mark.parametrize("method", ["sampled", "descent"])
def test_decision_lists_are_learned_to_the_same_on_a_gpu(gpu, waits, method, monkeypatch):
    monkeypatch.setattr(torch, "Generator", lambda device: GENERATOR(device="cpu"))
    drawn = Sampler._distinct_draws

    def draws_of_the_cpu(sampler) -> torch.Tensor:
        with monkeypatch.context() as here:
            here.setattr(sampler, "device", "cpu")
            return to_device(drawn(sampler), DEVICE)

    monkeypatch.setattr(Sampler, "_unwatched_draws", draws_of_the_cpu)
    blocks = {
        "sampled": SampledRun(L=10, n=3, m=2, method="sampled", batch=32, record_every=4),
        "descent": DescentRun(L=10, n=3, m=2, method="descent", batch=32, record_every=7),
    }
    run = AttentionRun(blocks[method].model_copy(update={"max_steps": 50}), seed=0)
    theirs, steps = decision_lists.train(run), waits(GpuTraining, "step")
    ours = decision_lists.train(run, GPU)
    assert ours.steps == theirs.steps
    assert ours.t_star == pytest.approx(theirs.t_star, nan_ok=True)
    np.testing.assert_allclose(ours.column_times, theirs.column_times, rtol=1e-9)
    np.testing.assert_allclose(ours.W, theirs.W, rtol=1e-9, atol=1e-12)
    pd.testing.assert_frame_equal(ours.history, theirs.history, rtol=1e-9)
    assert theirs.steps > LOOK_EVERY
    asked = [number for number, waited in enumerate(steps, 1) if waited]
    assert asked == list(range(LOOK_EVERY, len(steps) + 1, LOOK_EVERY))


def test_a_run_that_was_killed_after_its_last_step_has_no_further_row(gpu, monkeypatch):
    monkeypatch.setattr(torch, "Generator", lambda device: GENERATOR(device="cpu"))

    def training() -> GpuTraining:
        sampler = Sampler(np.random.default_rng(0), lists_of_seed(6, 2, 0), 3, 64, None, DEVICE)
        return GpuTraining(sampler, heun, 12.0, 0.1)

    whole = training()
    while not (whole.settled and whole.perfect) and whole.steps < 400:
        whole.step(7)
    assert whole.perfect and whole.steps % 7
    kept = {name: tensor.clone() for name, tensor in whole.tensors().items()}
    again = training()
    again.restore(kept, whole.steps)
    again.settle(7)
    assert again.history == whole.history


def test_subsets_of_which_the_host_reads_nothing_have_the_right_chances(gpu, monkeypatch):
    monkeypatch.setattr(torch, "Generator", lambda device: GENERATOR(device="cpu"))
    lists, n, count = lists_of_seed(7, 2, 0), 3, 20_000
    for weights in (None, np.arange(1.0, 8.0)):
        sampler = Sampler(np.random.default_rng(0), lists, n, count, weights, DEVICE)
        gpu.forget()
        tokens = sampler.tokens()
        assert not gpu.waits
        found = np.sort(tokens.cpu().numpy(), axis=1)
        assert (np.diff(found, axis=1) > 0).all()
        sequences = enumerate_sequences(7, n, weights)
        expected = {
            tuple(sorted(s)): p
            for s, p in zip(sequences.tokens, sequences.probability, strict=True)
        }
        subsets, times = np.unique(found, axis=0, return_counts=True)
        chances = np.array([expected[tuple(subset)] for subset in subsets])
        assert len(subsets) == len(expected)
        assert (abs(times - count * chances) < 5 * np.sqrt(count * chances)).all()
