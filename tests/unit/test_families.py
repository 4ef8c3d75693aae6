"""Claims about the five families of the paper, on tiny checkpoints as they are published."""

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from onelayer.errors import OnelayerError
from onelayer.papers.topic_structure.wikipedia.probe.embeddings import extract_embeddings
from onelayer.text.models.checkpoints import forward, load_checkpoint, word_embeddings
from onelayer.text.models.families import FAMILIES
from onelayer.text.models.tokenizer import encode, load_tokenizer, piece_id
from tests import tiny_models
from tests.tiny_models import save_tiny

TEXT = "The frog, the toad; the pond. A froglet! Bach zebra"
LAYERS, HEADS = 2, 2


@pytest.fixture(params=tiny_models.FAMILIES)
def published(request, tmp_path):
    """A family's name and a tiny checkpoint in the form in which its like is published."""
    return request.param, save_tiny(request.param, tmp_path / "tiny", published=True)


def test_the_tests_know_every_family() -> None:
    assert set(tiny_models.FAMILIES) == set(FAMILIES)


def test_a_published_checkpoint_loads_with_its_own_weights(published) -> None:
    family, folder = published
    model = load_checkpoint(folder)
    stored = load_file(folder / "model.safetensors")
    own = model.state_dict()
    prefix = "" if family == "bart" else f"{family}."
    read = 0
    for name, weights in stored.items():
        for new, old in tiny_models.OLD_NAMES.items():
            name = name.replace(old, new)
        if (bare := name.removeprefix(prefix)) in own:
            assert torch.equal(own[bare], weights), name
            read += weights.numel()
    pooler = sum(w.numel() for n, w in own.items() if n.startswith("pooler."))
    tied = sum(own[n].numel() for n in own if n.endswith("coder.embed_tokens.weight"))
    assert read >= sum(w.numel() for w in own.values()) - pooler - tied


def test_attention_is_that_of_the_reader_alone(published) -> None:
    """Against transformers' own whole model, whatever it calls its attention weights."""
    family, folder = published
    encoded = encode(load_tokenizer(folder), TEXT, 32)
    ours = forward(load_checkpoint(folder), encoded.ids)
    whole = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    with torch.no_grad():
        output = whole(torch.tensor([encoded.ids]), output_attentions=True)
    theirs = output.encoder_attentions if family == "bart" else output.attentions
    assert ours.shape == (LAYERS, HEADS, len(encoded.ids), len(encoded.ids))
    assert torch.equal(ours, torch.stack([layer[0] for layer in theirs]))


def test_the_embedding_layer_is_what_the_first_hidden_state_starts_from(published) -> None:
    """Word, position 0 and type 0, normalised: read off the stored weights by their names."""
    family, folder = published
    model = load_checkpoint(folder)
    ids = [5, 7, 9]
    raw, output = word_embeddings(model, ids)
    own = {name: w.double() for name, w in model.state_dict().items()}
    if family == "bart":
        words, positions = own["shared.weight"], own["encoder.embed_positions.weight"]
        added = words[ids] + positions[2]
        norm, epsilon = "encoder.layernorm_embedding", 1e-5
    else:
        words, positions = (
            own[f"embeddings.{kind}_embeddings.weight"] for kind in ("word", "position")
        )
        first = 2 if family == "roberta" else 0
        added = words[ids] + positions[first] + own["embeddings.token_type_embeddings.weight"][0]
        norm, epsilon = "embeddings.LayerNorm", model.config.layer_norm_eps
    centred = added - added.mean(-1, keepdim=True)
    scaled = centred / (centred.square().mean(-1, keepdim=True) + epsilon).sqrt()
    expected = scaled * own[f"{norm}.weight"] + own[f"{norm}.bias"]
    assert torch.equal(raw, words[ids])
    assert raw.shape[1] == (8 if family in ("albert", "electra") else 16)
    assert torch.allclose(output, expected, atol=1e-5)


def test_words_are_traced_to_their_only_piece(published) -> None:
    _, folder = published
    tokenizer = load_tokenizer(folder)
    encoded = encode(tokenizer, TEXT, 64)
    assert encoded.words == ["the", "frog", "the", "toad", "the", "pond", "bach"]
    for position, word in zip(encoded.positions, encoded.words, strict=True):
        if word not in (
            "the",
            "bach",
        ):  # "Bach": another piece in a tokenizer that keeps upper case
            assert encoded.ids[position] == piece_id(tokenizer, word)
    assert encode(tokenizer, "toad " * 40, 10).words == ["toad"] * 8


def test_words_of_several_or_unknown_pieces_have_no_piece(published) -> None:
    _, folder = published
    tokenizer = load_tokenizer(folder)
    assert piece_id(tokenizer, "frog") is not None
    assert piece_id(tokenizer, "froglet") is None
    assert piece_id(tokenizer, "zebra") is None


def test_no_word_of_one_piece_has_no_embedding(published) -> None:
    _, folder = published
    found = extract_embeddings(load_checkpoint(folder), load_tokenizer(folder), ["zebra"])
    assert found.words == [] and len(found.raw) == len(found.output) == 0


def test_a_missing_layer_is_refused_by_name(published) -> None:
    _, folder = published
    path = folder / "model.safetensors"
    weights = load_file(path)
    gone = next(name for name in weights if ".0." in name and name.endswith("bias"))
    save_file({n: w for n, w in weights.items() if n != gone}, path, metadata={"format": "pt"})
    with pytest.raises(OnelayerError, match="1 weights are missing"):
        load_checkpoint(folder)
