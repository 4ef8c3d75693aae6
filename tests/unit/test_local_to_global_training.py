"""Claims about the transformers of Makkuva et al. (2024): starts, schedule, what training does."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from torch.nn import functional

from onelayer.compute.checkpoint import Checkpoint
from onelayer.compute.ensemble import RunRandom
from onelayer.compute.execution import Execution
from onelayer.errors import OnelayerError
from onelayer.papers.local_to_global import canonical, initialisation, training
from onelayer.papers.local_to_global.attention import attention
from onelayer.papers.local_to_global.chain import Chain
from onelayer.papers.local_to_global.schedule import one_cycle
from onelayer.settings.local_to_global import EnsembleSettings, Variant
from onelayer.settings.root import default_settings

LTG = default_settings().local_to_global
CHAIN = {"p": 0.5, "q": 0.8}


STANDARD, PAPER = Variant(name="a"), Variant(name="b", initialisation="paper")


def small(**changes) -> EnsembleSettings:
    base = LTG.transformer.training.but(sequence_length=16, batch=4, iterations=6, **changes)
    return EnsembleSettings.of_fields(
        LTG.transformer, chain=CHAIN, training=base, seeds=2, evaluate_every=3
    )


def test_the_paper_start_with_a_quarter_is_the_canonical_point():
    """f(1) - f(0) of the constant start, from its definition: e.z of both symbols."""
    parameters = initialisation.paper(RunRandom([0]), 4, 8, W=0.25)
    e, W_1, W_2 = (parameters[name][0].double().numpy() for name in ("e", "W_1", "W_2"))
    gap = [e @ (z + W_2 @ np.maximum(W_1 @ z, 0)) for z in (e / 2, -e / 2)]
    expected = canonical.logit_gap(np.sqrt(2.0), -2.0)
    assert gap[0] - gap[1] == pytest.approx(expected, rel=1e-6)


def test_starts_have_the_size_and_the_rank_they_should():
    random = RunRandom(range(400))
    standard = initialisation.standard(random, 16, 8)
    one = initialisation.rank_one(random, 16, 8)
    for name in ("e", "W_Q", "W_O", "W_1", "W_2"):
        size = [p[name].square().sum().item() / 400 for p in (standard, one)]
        assert size[0] == pytest.approx(size[1], rel=0.35), name
    for name in ("W_Q", "W_K", "W_V", "W_O", "W_1", "W_2"):
        assert standard[name].std().item() == pytest.approx(
            0.02 / 2**0.5 if name in ("W_O", "W_2") else 0.02, rel=0.05
        )
        assert (training.top_share(one[name]) > 1 - 1e-5).all(), name
        assert (training.top_share(standard[name]) < 0.9).all(), name
    assert torch.equal(one["wpe"], (-one["e"] / 2)[:, None].expand(-1, 16, -1))


def test_two_constant_rows_embed_both_symbols_alike():
    rows = initialisation.paper(RunRandom([0]), 4, 8, rows=2)["rows"]
    assert torch.equal(rows[:, 0], rows[:, 1])


def test_the_schedule_rises_to_1_and_falls_to_a_tenth():
    factor = one_cycle(1000, 0.02)
    rates = [factor(step) for step in range(1000)]
    assert rates[0] == pytest.approx(0.01) and rates[20] == pytest.approx(1)
    assert rates[-1] == pytest.approx(0.1)
    assert np.all(np.diff(rates[:21]) > 0) and np.all(np.diff(rates[20:]) < 0)


def test_a_variant_changes_what_it_names_and_nothing_else():
    base = LTG.transformer.training
    shorter = Variant(name="x", sequence_length=64, weight_decay=0.1)
    changed = shorter.applied(base)
    assert changed == base.model_copy(update={"sequence_length": 64, "weight_decay": 0.1})
    fewer = Variant(name="y", batch=8)
    groups = training.groups_of([STANDARD, shorter, fewer, PAPER], base)
    assert groups == [[STANDARD, PAPER], [shorter], [fewer]]


@pytest.mark.parametrize(
    "changes", [{}, {"layer_norm": True}, {"embedding_rows": 2}, {"optimizer": "sgd"}]
)
def test_a_run_is_the_same_alone_and_beside_other_variants(changes):
    settings = small(**changes)
    decayed = PAPER.model_copy(update={"weight_decay": 0.1})
    both = [STANDARD, decayed]
    assert training.groups_of(both, settings.training) == [both]
    together = training.curves(both, training.train_group(both, settings), 2)
    single = training.curves([decayed], training.train_group([decayed], settings), 2)
    part = together[together["variant"] == "b"].reset_index(drop=True)
    assert list(part["iteration"].unique()) == [0, 3, 6]
    for name in ("loss", "W_1_share", "W_V_share"):
        np.testing.assert_allclose(part[name], single[name], atol=2e-4)


def test_matrices_decay_and_biases_and_gains_do_not():
    base = small(layer_norm=True, weight_decay=0.1).training
    start = training._start("standard", base, RunRandom([0]))
    decay = training._optimizer([base], 1, start).weight_decay
    free = {name for name, value in decay.items() if value == 0}
    assert free == {"b", "ln_attention", "ln_mlp", "ln_final"}
    assert all(decay[name] == [0.1] for name in set(start) - free)


def test_variants_go_on_where_a_killed_training_stopped(tmp_path: Path):
    variants = [STANDARD, PAPER.model_copy(update={"iterations": 9})]
    lengths, killed = [], []

    def progress(steps: range, **_) -> range:
        lengths.append(len(steps))
        if lengths == killed:
            raise KeyboardInterrupt
        return steps

    def train(own: str = "it") -> pd.DataFrame:
        lengths.clear()
        execution = Execution(checkpoint=Checkpoint(tmp_path / "state", own), progress=progress)
        return training.train_variants(variants, small(), execution)

    expected = train()
    for own, left in (("it", [0, 9]), ("other settings", [6, 9])):
        killed[:] = [6, 9]
        for state in tmp_path.iterdir():
            state.unlink()
        with pytest.raises(KeyboardInterrupt):
            train()
        killed.clear()
        pd.testing.assert_frame_equal(train(own), expected)
        assert lengths == left


def test_held_out_sequences_of_one_symbol_are_refused():
    short = LTG.transformer.training.but(sequence_length=8)
    rare = EnsembleSettings.of_fields(
        LTG.transformer, chain={"p": 1e-6, "q": 0.5}, training=short, evaluate_on=1
    )
    with pytest.raises(OnelayerError, match=r"evaluate_on = 1: .* hold one symbol only"):
        training.train_group([STANDARD], rare)


def test_the_paper_start_passes_the_unigram_entropy_and_the_standard_start_does_not():
    """At a sixteenth of the published sequence length; both end with W_1 of rank one."""
    chain = Chain(**CHAIN)
    base = LTG.transformer.training.but(sequence_length=64, batch=16, iterations=400)
    settings = EnsembleSettings.of_fields(
        LTG.transformer, chain=CHAIN, training=base, seeds=2, evaluate_every=100
    )
    group = [STANDARD, PAPER]
    curves = training.curves(group, training.train_group(group, settings), 2)
    last = curves[curves["iteration"] == 400]
    paper = last[last["variant"] == PAPER.name]
    assert (paper["loss"] < chain.unigram_entropy - 0.01).all()
    assert (paper["W_1_share"] > 0.99).all()
    standard = curves[(curves["variant"] == STANDARD.name) & (curves["iteration"] >= 100)]
    assert (abs(standard["loss"] - chain.unigram_entropy) < 0.01).all()
    assert (standard["W_1_share"] > 0.9).all()


@pytest.mark.parametrize("T", [5, 64, 200])
def test_attention_over_two_vectors_is_attention_over_what_the_sequences_hold(T):
    torch.manual_seed(0)
    q, k, v = (torch.randn(2, T, 2, 4, dtype=torch.float64, requires_grad=True) for _ in range(3))
    x = torch.rand(2, 3, T) < 0.4
    place = x.long()[..., None, None].expand(-1, -1, -1, 1, 4)
    held = [
        part.unsqueeze(1).expand(-1, 3, -1, -1, -1).gather(3, place).squeeze(3)
        for part in (q, k, v)
    ]
    slow = functional.scaled_dot_product_attention(*held, is_causal=True)
    fast = attention(q, k, v, x)
    torch.testing.assert_close(fast, slow, rtol=1e-9, atol=1e-12)
    above = torch.randn_like(slow)
    for ours, theirs in zip(
        torch.autograd.grad(fast, [q, k, v], above),
        torch.autograd.grad(slow, [q, k, v], above),
        strict=True,
    ):
        torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-12)


def test_attention_to_keys_far_below_the_best_stays_finite():
    q = torch.zeros(1, 3, 2, 1)
    q[:] = 1.0
    k = torch.tensor([0.0, 500.0]).repeat(3, 1).reshape(1, 3, 2, 1)
    v = torch.tensor([1.0, 2.0]).repeat(3, 1).reshape(1, 3, 2, 1)
    mixed = attention(q, k, v, torch.tensor([[[False, False, True]]]))
    torch.testing.assert_close(mixed.flatten(), torch.tensor([1.0, 1.0, 2.0]))
