"""The language model of Fig. 7 equals torch's encoder layer; its measures equal plain loops."""

import math

import numpy as np
import pandas as pd
import pytest
import torch

from onelayer.papers.scan_snap import language_model, text, text_training
from onelayer.papers.scan_snap.language_model import Windows
from onelayer.settings.root import default_settings

SCAN_SNAP = default_settings().scan_snap


@pytest.fixture(scope="module")
def parameters():
    made = language_model.initial_parameters([4, 9], vocabulary=30, width=8, hidden=12)
    return {name: tensor.double().requires_grad_() for name, tensor in made.items()}


@pytest.fixture(scope="module")
def tokens():
    return torch.randint(30, (2, 3, 7), generator=torch.Generator().manual_seed(0))


def torch_model(parameters, run):
    """One run's parameters in torch's own modules."""
    own = {name: tensor[run] for name, tensor in parameters.items()}
    layer = torch.nn.TransformerEncoderLayer(8, 1, 12, dropout=0.0, batch_first=True).double()
    names = {
        "self_attn.in_proj_weight": "attention_in",
        "self_attn.in_proj_bias": "attention_in_bias",
        "self_attn.out_proj.weight": "attention_out",
        "self_attn.out_proj.bias": "attention_out_bias",
        "linear1.weight": "feed_forward_in",
        "linear1.bias": "feed_forward_in_bias",
        "linear2.weight": "feed_forward_out",
        "linear2.bias": "feed_forward_out_bias",
        "norm1.weight": "norm1",
        "norm1.bias": "norm1_bias",
        "norm2.weight": "norm2",
        "norm2.bias": "norm2_bias",
    }
    layer.load_state_dict({theirs: own[ours].detach() for theirs, ours in names.items()})
    return layer, own, names


def sinusoids(T, d):
    table = torch.zeros(T, d, dtype=torch.float64)
    for place in range(T):
        for i in range(0, d, 2):
            angle = place / 10000 ** (i / d)
            table[place, i], table[place, i + 1] = math.sin(angle), math.cos(angle)
    return table


@pytest.mark.parametrize(("run", "positional"), [(0, True), (1, True), (0, False)])
def test_loss_gradients_and_attention_equal_torchs_encoder_layer(
    parameters, tokens, run, positional
):
    layer, own, names = torch_model(parameters, run)
    embedding = own["embedding"].detach().requires_grad_()
    decoder = own["decoder"].detach().requires_grad_()
    inputs, targets = tokens[run, :, :-1], tokens[run, :, 1:]
    x = embedding[inputs] * math.sqrt(8) + positional * sinusoids(6, 8)
    mask = torch.nn.Transformer.generate_square_subsequent_mask(6, dtype=torch.float64)
    _, attention = layer.self_attn(x, x, x, attn_mask=mask)
    logits = layer(x, src_mask=mask) @ decoder.T + own["decoder_bias"].detach()
    expected = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
    expected.backward()

    found = language_model.loss(parameters, Windows(tokens, 0), positional=positional)
    slopes = torch.autograd.grad(found[run], list(parameters.values()), allow_unused=True)
    slopes = dict(zip(parameters, slopes, strict=True))
    _, weights = language_model.forward(parameters, tokens[:, :, :-1], positional=positional)
    # Sinusoids are float32 in the model.
    assert abs(found[run] - expected) < 1e-6
    assert (weights[run] - attention).abs().max() < 1e-6
    theirs = dict(layer.named_parameters())
    for name, ours in names.items():
        assert (slopes[ours][run] - theirs[name].grad).abs().max() < 1e-6, name
    assert (slopes["embedding"][run] - embedding.grad).abs().max() < 1e-6
    assert (slopes["decoder"][run] - decoder.grad).abs().max() < 1e-6
    assert slopes["embedding"][1 - run].abs().max() == 0


def test_the_decoders_loss_by_blocks_equals_torchs_cross_entropy(monkeypatch):
    """Several blocks, one cut short, and logits so far apart that the target's chance is 0."""
    monkeypatch.setattr(language_model, "BLOCK", 5)
    draw = torch.Generator().manual_seed(1)
    states, W, bias = (
        torch.randn(*size, generator=draw, dtype=torch.float64).requires_grad_()
        for size in ((2, 1, 13, 8), (2, 30, 8), (2, 30))
    )
    targets = torch.randint(30, (2, 1, 13), generator=draw)
    for scale in (1, 1000):
        own = {"decoder": scale * W, "decoder_bias": bias}
        found = language_model.decoder_loss(own, states, targets)
        logits = scale * states[:, 0] @ W.mT + bias[:, None]
        each = torch.nn.functional.cross_entropy(
            logits.flatten(0, 1), targets.flatten(), reduction="none"
        )
        expected = each.unflatten(0, (2, 13)).mean(1)
        assert torch.allclose(found, expected, rtol=1e-12)
        weights = torch.tensor([1.0, 3.0], dtype=torch.float64)
        ours, theirs = (
            torch.autograd.grad((weights * loss).sum(), [states, W, bias])
            for loss in (found, expected)
        )
        for mine, other in zip(ours, theirs, strict=True):
            assert torch.allclose(mine, other, rtol=1e-9, atol=1e-12)
        with torch.no_grad():
            assert torch.equal(language_model.decoder_loss(own, states, targets), found)


def test_dropout_drops_its_share_and_keeps_the_mean(parameters, tokens):
    from onelayer.compute.ensemble import RunRandom

    random = RunRandom([0, 1])
    dropped = random.flips(0.3, 50_000, use="x")
    assert (dropped.double().mean(1) - 0.3).abs().max() < 0.01
    with torch.no_grad():
        losses = [
            language_model.loss(parameters, Windows(tokens, step), 0.3, random) for step in (0, 1)
        ]
        again = language_model.loss(parameters, Windows(tokens, 1), 0.3, random)
    assert not torch.equal(losses[0], losses[1])
    assert torch.equal(losses[1], again)
    with torch.no_grad():
        whole, thinned = (
            language_model.forward(parameters, tokens, share, random)[0] for share in (0, 1e-3)
        )
    assert (whole - thinned).abs().median() < 1e-2  # all but a thousandth is kept


def test_measures_equal_plain_loops():
    rng = np.random.default_rng(0)
    scores = torch.from_numpy(rng.normal(scale=3, size=(2, 3, 6, 6)))
    future = torch.ones(6, 6, dtype=torch.bool).triu(1)
    attention = torch.softmax(scores.masked_fill(future, -torch.inf), dim=3)
    bins = torch.from_numpy(rng.integers(-1, 4, size=(3, 6)))
    found = text_training.measure(attention, bins)
    for run in range(2):
        entropy = top1 = sparse = 0.0
        received, pairs = np.zeros(4), np.zeros(4)
        for b in range(3):
            for q in range(6):
                row = attention[run, b, q, : q + 1].tolist()
                entropy -= sum(a * math.log(a) for a in row if a > 0) / 6
                top1 += max(row) / 6
                sparse += sum(a < 0.1 / (q + 1) for a in row) / (q + 1) / 6
                for k, a in enumerate(row):
                    if bins[b, k] >= 0:
                        received[bins[b, k]] += a * (q + 1)
                        pairs[bins[b, k]] += 1
        for name, value in (("entropy", entropy), ("top1", top1), ("sparse", sparse)):
            assert abs(found[name][run] - value) < 1e-12, name
        assert np.abs(found["received"][run].numpy() - received).max() < 1e-12
        assert (found["pairs"].numpy() == pairs).all()


def test_uniform_attention_receives_one_everywhere():
    attention = torch.ones(1, 2, 5, 5).tril().double()
    attention /= attention.sum(3, keepdim=True)
    bins = torch.tensor([[0, 1, 2, 3, 0], [3, 2, 1, 0, -1]])
    found = text_training.measure(attention, bins)
    assert torch.allclose(found["received"][0], found["pairs"].double())
    assert abs(found["entropy"][0] / 2 - text.uniform_entropy(5)) < 1e-12
    assert found["sparse"][0] == 0


def test_text_is_split_numbered_and_cut_into_windows():
    words = [f"w{n}" for n in range(140)]
    rows = [" ".join(words[: 2 + n % 138]) for n in range(800)]
    articles = pd.DataFrame({"text": rows})
    training = {"name": "sgd", "optimizer": "sgd", "lr": 1.0, "lr_feed_forward": 1.0}
    settings = SCAN_SNAP.language_model.but(
        corpus="made-up", vocabulary=100, held_out_share=0.1, held_out_sequences=5, length=8,
        trainings=[training],
    )  # fmt: skip
    found = text.encode(articles, settings)
    assert found.vocabulary == ["<unk>", "<eos>", *(f"w{n}" for n in range(98))]
    assert found.held_out.shape == (5, 9)
    total = sum(len(row.split()) + 1 for row in rows)
    assert 0.8 * total < len(found.training) < 0.97 * total
    assert (found.training == 1).sum() == 720
    assert text.frequency_bins(1200)[[0, 1, 2, 11, 12, 101, 102, 1001, 1002, 1199]].tolist() == [
        *(-1, -1, 0, 0, 1, 1, 2, 2, 3, 3)
    ]


def test_a_reader_goes_through_the_text_and_starts_again():
    numbers = np.arange(103)
    reader = language_model.Reader(numbers, [0, 1], batch=4, length=6)
    first = reader(0).tokens
    assert first.shape == (2, 4, 7)
    columns = numbers[:100].reshape(4, 25)
    for run in range(2):
        start = int(first[run, 0, 0])
        for step in (0, 1, 7):
            places = (start + 6 * step + np.arange(7)) % 25
            assert (reader(step).tokens[run].numpy() == columns[:, places]).all()
    with pytest.raises(ValueError, match="too few for 4 columns of 26"):
        language_model.Reader(numbers, [0], batch=4, length=26)
