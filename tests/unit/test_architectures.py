"""Claims about every architecture that the probe opens, on tiny checkpoints."""

from collections.abc import Callable
from types import SimpleNamespace

import pytest
import torch
from torch import Tensor, nn
from transformers import AutoConfig

from onelayer.errors import OnelayerError
from onelayer.text.models.architecture import (
    check_architecture,
    embedding_output,
    longest_text,
    reader,
)
from onelayer.text.models.checkpoints import (
    forward,
    load_checkpoint,
    save_random_checkpoint,
    word_embeddings,
)
from onelayer.text.models.tokenizer import encode, load_tokenizer, piece_id
from tests.tiny_models import CAUSAL, ENCODERS, edit_config, save_tiny

TEXT = "The frog, the toad; the pond. A froglet! Bach zebra"
IDS = [5, 7, 9, 7]
# The embedding layer by the names of the model's own modules; in all others it is `embeddings`.
EMBEDDINGS: dict[str, Callable[[nn.Module, Tensor], Tensor]] = {
    "bart": lambda m, ids: m.encoder.layernorm_embedding(
        m.encoder.embed_tokens(ids) + m.encoder.embed_positions(ids)
    ),
    "gpt2": lambda m, ids: m.wte(ids) + m.wpe(torch.arange(ids.shape[1])),
    "gpt_neox": lambda m, ids: m.embed_in(ids),
    "llama": lambda m, ids: m.embed_tokens(ids),
}
# In these positions are not added to the words: attention knows how far apart they are.
UNBOUND = ("modernbert", "gpt_neox", "llama")
each_encoder = pytest.mark.parametrize("name", ENCODERS)
each_causal_model = pytest.mark.parametrize("name", CAUSAL)


@pytest.fixture(params=[*ENCODERS, *CAUSAL])
def tiny(request, tmp_path):
    """An architecture's name and a tiny checkpoint of it."""
    return request.param, save_tiny(request.param, tmp_path / "tiny")


def own_embeddings(name: str, model: nn.Module, ids: Tensor) -> Tensor:
    return EMBEDDINGS.get(name, lambda m, ids: m.embeddings(input_ids=ids))(model, ids)


def test_the_first_hidden_state_is_the_output_of_the_models_own_embedding_layer(tiny) -> None:
    name, folder = tiny
    model = load_checkpoint(folder)
    ids = torch.tensor([IDS])
    with torch.no_grad():
        states = reader(model)(input_ids=ids, output_hidden_states=True).hidden_states
        own = own_embeddings(name, model, ids)
        output = embedding_output(model, ids)
    assert len(states) == 3
    if name in ("albert", "electra"):  # factorised: the projection follows
        assert own.shape[-1] == 8 and states[0].shape[-1] == 16
    else:
        assert torch.equal(states[0], own)
    assert torch.equal(output, own)


def test_words_are_embedded_alone_at_the_first_position(tiny) -> None:
    name, folder = tiny
    model = load_checkpoint(folder)
    raw, output = word_embeddings(model, IDS)
    with torch.no_grad():
        own = own_embeddings(name, model, torch.tensor(IDS)[:, None])[:, 0]
    assert torch.equal(output, own.double())
    assert torch.equal(raw, model.get_input_embeddings().weight[IDS].detach().double())


@each_encoder
def test_every_row_of_attention_sums_to_one_in_both_directions(name, tmp_path) -> None:
    folder = save_tiny(name, tmp_path / "tiny")
    ids = encode(load_tokenizer(folder), TEXT, 32).ids
    attention = forward(load_checkpoint(folder), ids)
    assert attention.shape == (2, 2, len(ids), len(ids))
    assert torch.allclose(attention.sum(-1), torch.ones(2, 2, len(ids)), atol=1e-5)
    assert attention.triu(1).max() > 0 and attention.tril(-1).max() > 0


@each_causal_model
def test_every_row_of_causal_attention_sums_to_one_and_looks_back(name, tmp_path) -> None:
    folder = save_tiny(name, tmp_path / "tiny")
    ids = encode(load_tokenizer(folder), TEXT, 32).ids
    attention = forward(load_checkpoint(folder), ids)
    assert torch.allclose(attention.sum(-1), torch.ones(2, 2, len(ids)), atol=1e-5)
    assert (attention.triu(1) == 0).all() and attention.tril(-1).max() > 0


def test_words_are_traced_to_their_only_piece(tiny) -> None:
    name, folder = tiny
    tokenizer = load_tokenizer(folder)
    encoded = encode(tokenizer, TEXT, 64)
    assert encoded.words == ["the", "frog", "the", "toad", "the", "pond", "bach"]
    frog = encoded.positions[1]
    assert encoded.ids[frog] == piece_id(tokenizer, "frog")
    assert encoded.positions[0] == (0 if name in ("gpt2", "gpt_neox") else 1)
    assert piece_id(tokenizer, "froglet") is piece_id(tokenizer, "zebra") is None


def test_a_random_control_has_the_architecture_of_its_original(tiny, tmp_path) -> None:
    _, folder = tiny
    (tmp_path / "random").mkdir()
    save_random_checkpoint(folder, tmp_path / "random", 0)
    control, model = load_checkpoint(tmp_path / "random"), load_checkpoint(folder)
    assert type(control) is type(model)
    shapes = {name: weights.shape for name, weights in model.named_parameters()}
    assert {name: w.shape for name, w in control.named_parameters()} == shapes
    assert not torch.equal(word_embeddings(control, [5])[0], word_embeddings(model, [5])[0])


def test_no_more_tokens_are_read_than_there_are_positions_for(tiny) -> None:
    name, folder = tiny
    model = load_checkpoint(folder)
    most = longest_text(model)
    assert most == (62 if name in ("roberta", "mpnet", "xlm-roberta", "camembert") else 64)
    assert forward(model, [5] * most).shape[-1] == most
    if name not in UNBOUND:
        with pytest.raises((IndexError, RuntimeError)):
            forward(model, [5] * (most + 1))


@pytest.mark.parametrize("longest", [-1, None])
def test_an_architecture_without_bound_reads_texts_of_any_length(longest) -> None:
    config = SimpleNamespace(max_position_embeddings=longest)
    model = SimpleNamespace(config=config, named_modules=list)
    assert longest_text(model) == float("inf")


def states_changed(model: nn.Module, change: Callable) -> nn.Module:
    """The model with other hidden states in its answer."""

    def hook(module: nn.Module, arguments: tuple, output: dict) -> dict:
        output["hidden_states"] = change(output["hidden_states"])
        return output

    model.register_forward_hook(hook)
    return model


def test_a_model_that_leaves_out_hidden_states_is_refused(tmp_path) -> None:
    model = load_checkpoint(save_tiny("distilbert", tmp_path / "tiny"))
    states_changed(model, lambda states: states[1:])
    message = "DistilBertModel returned 2 hidden states of 2 layers; the probe needs 3"
    with pytest.raises(OnelayerError, match=message):
        word_embeddings(model, IDS)


@pytest.mark.parametrize("name", ["distilbert", "gpt2"])
def test_hidden_states_that_begin_behind_a_layer_are_refused(name, tmp_path) -> None:
    model = load_checkpoint(save_tiny(name, tmp_path / "tiny"))
    states_changed(model, lambda states: (states[1], *states[1:]))
    with pytest.raises(OnelayerError, match="its first hidden state depends on the words around"):
        word_embeddings(model, IDS)


def test_attention_of_another_shape_than_the_text_is_refused(tmp_path) -> None:
    model = load_checkpoint(save_tiny("gpt2", tmp_path / "tiny"))

    def hook(module: nn.Module, arguments: tuple, output: dict) -> dict:
        output["attentions"] = tuple(layer[..., :2] for layer in output["attentions"])
        return output

    model.register_forward_hook(hook)
    with pytest.raises(OnelayerError, match=r"attention weights \[1, 2, 4, 2\] of 4 tokens"):
        forward(model, IDS)


def test_an_architecture_that_transformers_does_not_know_is_named(tmp_path) -> None:
    folder = save_tiny("bert", tmp_path / "tiny")
    edit_config(folder, model_type="birt")
    with pytest.raises(OnelayerError, match=r"config.json: architecture 'birt' is not known to tr"):
        load_checkpoint(folder)


@pytest.mark.parametrize("name", [*ENCODERS, *CAUSAL, "t5", "opt", "bloom"])
def test_what_can_be_probed_is_seen_in_the_configuration_alone(name, tmp_path) -> None:
    AutoConfig.for_model(name).save_pretrained(tmp_path)
    check_architecture(tmp_path, "folder x")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("mamba", "MambaModel returned attention weights for 0 of 32 layers"),
        ("fnet", "FNetModel returned attention weights for 0 of 12 layers"),
        ("rwkv", r"RwkvModel returned attention weights \[1, 2, 4096\] of 2 tokens"),
        ("vit", "ViTModel reads pixel_values; the probe needs a model that reads text"),
        ("whisper", "WhisperModel reads input_features"),
        ("clip", "CLIPModel cannot read text alone"),
        ("funnel", "transformers cannot load this model"),
    ],
)
def test_what_cannot_be_probed_is_seen_in_the_configuration_alone(name, message, tmp_path) -> None:
    AutoConfig.for_model(name).save_pretrained(tmp_path)
    with pytest.raises(OnelayerError, match=f"^folder x: {message}") as refused:
        check_architecture(tmp_path, "folder x")
    assert "\n" not in str(refused.value)
