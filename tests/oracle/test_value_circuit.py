"""Gaps of value circuits agree with plain loops over words, and weights with what heads do."""

import math

import numpy as np
import pytest
import torch
from transformers import AttentionInterface

from onelayer.papers.topic_structure.wikipedia import value_circuit
from onelayer.papers.topic_structure.wikipedia.probe.similarity import TopicSets
from onelayer.papers.topic_structure.wikipedia.probe.value_circuit import HeadGaps
from onelayer.text.models.architecture import norm_gains, reader, value_weights
from onelayer.text.models.checkpoints import load_checkpoint
from tests.oracle import cases
from tests.tiny_models import FAMILIES, OTHER_ENCODERS, save_tiny

# Their queries, keys and values are one matrix.
KNOWN = sorted({*FAMILIES, *OTHER_ENCODERS, "llama"} - {"modernbert"})


def gap_by_loops(source, target, topics):
    """Same-topic minus different-topic mean of C_ij = a_i . b_j, over the deviation of all."""
    same, different = [], []
    for i, a in enumerate(source):
        for j, b in enumerate(target):
            if i == j or not topics[i] or not topics[j]:
                continue
            entry = sum(x * y for x, y in zip(a, b, strict=True))
            (same if topics[i] & topics[j] else different).append(entry)
    every = same + different
    mean = sum(every) / len(every)
    deviation = math.sqrt(sum((entry - mean) ** 2 for entry in every) / len(every))
    return (sum(same) / len(same) - sum(different) / len(different)) / deviation, deviation


@pytest.mark.parametrize("largest", [1, 3])
@pytest.mark.parametrize("changed", ["nothing", "permuted", "resampled"])
def test_gaps_of_all_heads_agree_with_loops(largest, changed):
    rng = np.random.default_rng(largest)
    words, heads = 40, 3
    labels = cases.membership(rng, words, 5, largest > 1, largest=largest)
    source, target = rng.standard_normal((2, words, heads, 4)) + 0.3
    labelled = np.flatnonzero(labels.any(axis=1))
    permutation, drawn = np.arange(words), np.ones(words, int)
    if changed == "permuted":
        permutation[labelled] = rng.permutation(labelled)
    if changed == "resampled":
        drawn[labelled] = rng.integers(0, 4, len(labelled))
    gaps = HeadGaps(source, target, TopicSets(labels)).gaps(drawn, permutation)
    topics = cases.topic_sets(labels[permutation])
    for head in range(heads):
        a, b = source[:, head].tolist(), target[:, head].tolist()
        _, unit = gap_by_loops(a, b, cases.topic_sets(labels))
        # A word that is drawn twice is two words, which make no pair with each other.
        sums, pairs = [0.0, 0.0], [0, 0]
        for i in labelled:
            for j in labelled:
                if i != j:
                    kind, copies = int(not topics[i] & topics[j]), drawn[i] * drawn[j]
                    sums[kind] += copies * np.dot(a[i], b[j])
                    pairs[kind] += copies
        expected = (sums[0] / pairs[0] - sums[1] / pairs[1]) / unit
        assert gaps[head] == pytest.approx(expected, rel=1e-10)
        if changed == "nothing":
            assert gaps[head] == pytest.approx(gap_by_loops(a, b, topics)[0], rel=1e-10)


@pytest.mark.parametrize("family", KNOWN)
def test_weights_are_those_by_which_heads_write(family, tmp_path):
    """The first layer's values, as it hands them to attention, and what its output makes of one."""
    config = {"num_key_value_heads": 1} if family == "llama" else {}
    model = load_checkpoint(save_tiny(family, tmp_path / family, **config))
    layers = 1 if family == "albert" else 2
    values, output = value_weights(model)
    assert values.shape == (layers, 2, 16, 8) and output.shape == (layers, 2, 8, 16)
    values, output = values[0].double(), output[0].double()
    if family in ("deberta-v2", "mpnet", "llama"):
        return  # they attend in a way of their own, or norm what they read: shapes alone
    seen = []

    def attend(module, query, key, value, *mask, **options):
        seen.append(value)
        return value.transpose(1, 2), None

    AttentionInterface.register("seen", attend)
    model.set_attn_implementation("seen")
    with torch.inference_mode():
        states = reader(model)(input_ids=torch.tensor([[3, 5]]), output_hidden_states=True)
    read, given = states.hidden_states[0][0].double(), seen[0][0].double()
    # Biases drop out of the difference between two tokens.
    expected = torch.einsum("d,hde->he", read[1] - read[0], values)
    torch.testing.assert_close(given[:, 1] - given[:, 0], expected, rtol=1e-4, atol=1e-6)
    names = ("dense", "out_proj", "out_lin", "o")
    linear = next(
        module
        for name, module in reader(model).named_modules()
        if name.rpartition(".")[2] in names and "att" in name
    )
    flat = given[:, 1].flatten()  # heads one behind the other, as they go into the output layer
    made = linear.weight.double() @ flat
    torch.testing.assert_close(torch.einsum("he,hed->d", given[:, 1], output), made)


@pytest.mark.parametrize("family", [*FAMILIES, *OTHER_ENCODERS, "llama"])
def test_gains_are_of_the_norm_that_runs_behind_attention(family, tmp_path):
    """As modules are called, not as they are named."""
    model = load_checkpoint(save_tiny(family, tmp_path / family))
    gains, called = norm_gains(model), []
    if family in ("deberta-v2", "modernbert", "llama"):  # not known, or normed before
        assert gains is None
        return
    for name, module in reader(model).named_modules():
        if isinstance(module, torch.nn.LayerNorm):
            torch.nn.init.uniform_(module.weight)
        module.register_forward_hook(lambda one, *_, name=name: called.append((name, one)))
    reader(model)(input_ids=torch.tensor([[3, 5]]))
    behind, waiting = [], False
    for name, module in called:
        if name.rpartition(".")[2] in ("dense", "out_proj", "out_lin", "o") and "att" in name:
            waiting = True
        elif waiting and isinstance(module, torch.nn.LayerNorm):
            behind.append(module.weight)
            waiting = False
    shared = family == "albert"  # one layer, called twice
    torch.testing.assert_close(norm_gains(model), torch.stack(behind[: 1 if shared else 2]))


def test_half_times_are_those_of_a_fit_that_never_falls():
    tokens = np.array([8.0, 16, 32, 64, 128])
    for distances, half in (
        ([0, 0, 0, 1, 2], 64),
        ([0, 0, 0, 0, 2], 64 * 2**0.5),
        ([0, 2, -1, -1, 2], 64 * 2**0.5),  # an early one that noise lifts is averaged with others
        ([1, 1, 1, 1, 1], 8),
    ):
        found = value_circuit.half_time(tokens, np.array(distances, dtype=float))
        assert found == pytest.approx(half)
