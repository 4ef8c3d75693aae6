"""Checkpoints and tokenizers of every architecture, on tiny models: read, gathered, or refused."""

import json
import logging
import pickle
import shutil
from functools import partial

import pydantic
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModel

from onelayer.errors import OnelayerError
from onelayer.settings.hub import HubRepository
from onelayer.settings.models import Models
from onelayer.text.fetch import Repository
from onelayer.text.models.checkpoints import (
    check_architecture,
    check_folder,
    forward,
    gather_checkpoint,
    load_checkpoint,
    longest_text,
    random_model,
    save_checkpoint,
    word_embeddings,
)
from onelayer.text.models.tokenizer import encode, load_tokenizer
from tests.conftest import snakemake
from tests.servers import COMMIT, Hub, become_a_client, serve
from tests.tiny_models import CAUSAL, ENCODERS, FAMILIES, OLD_NAMES, PIECES, edit_config, save_tiny

TEXT = "The frog, the toad; the pond. A froglet! Bach zebra"
IDS = [5, 7, 9, 7]
FILES = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json")
# The embedding layer by the names of the model's own modules; in all others it is `embeddings`.
EMBEDDINGS = {
    "bart": lambda m, ids: m.encoder.layernorm_embedding(
        m.encoder.embed_tokens(ids) + m.encoder.embed_positions(ids)
    ),
    "gpt2": lambda m, ids: m.wte(ids) + m.wpe(torch.arange(ids.shape[1])),
    "gpt_neox": lambda m, ids: m.embed_in(ids),
    "llama": lambda m, ids: m.embed_tokens(ids),
    "gemma2": lambda m, ids: m.embed_tokens(ids),
}
# In these positions are not added to the words: attention knows how far apart they are.
UNBOUND = ("modernbert", "gpt_neox", "llama", "gemma2")


@pytest.fixture(params=[*ENCODERS, *CAUSAL])
def tiny(request, tmp_path):
    """An architecture's name and a tiny checkpoint of it."""
    return request.param, save_tiny(request.param, tmp_path / "tiny")


@pytest.fixture
def bert(tmp_path):
    return save_tiny("bert", tmp_path / "bert")


@pytest.fixture
def target(tmp_path):
    (tmp_path / "target").mkdir()
    return tmp_path / "target"


def test_rows_of_attention_sum_to_one_and_causal_models_look_back(tiny):
    name, folder = tiny
    check_architecture(folder, "folder x")  # sees it in the configuration alone
    model, ids = load_checkpoint(folder), encode(load_tokenizer(folder), TEXT, 32).ids
    attention = forward(model, ids)
    assert attention.shape == (2, 2, len(ids), len(ids))
    assert torch.allclose(attention.sum(-1), torch.ones(2, 2, len(ids)), atol=1e-5)
    assert (attention.triu(1).max() == 0) == (name in CAUSAL)
    assert attention.tril(-1).max() > 0


def test_words_are_embedded_alone_at_the_first_position(tiny):
    name, folder = tiny
    model = load_checkpoint(folder)
    raw, output = word_embeddings(model, IDS)
    own = EMBEDDINGS.get(name, lambda m, ids: m.embeddings(input_ids=ids))
    with torch.no_grad():
        expected = own(model, torch.tensor(IDS)[:, None])[:, 0]
    assert torch.equal(output, expected.double())
    assert torch.equal(raw, model.get_input_embeddings().weight[IDS].detach().double())
    assert raw.shape[1] == (8 if name in ("albert", "electra") else 16)
    assert [len(part) for part in word_embeddings(model, [])] == [0, 0]


def test_no_longer_text_is_read_than_there_are_positions_for(tiny):
    name, folder = tiny
    model = load_checkpoint(folder)
    most = longest_text(model)
    assert most == (62 if name in ("roberta", "mpnet", "xlm-roberta", "camembert") else 64)
    assert forward(model, [5] * most).shape[-1] == most
    if name not in UNBOUND:
        with pytest.raises((IndexError, RuntimeError)):
            forward(model, [5] * (most + 1))


@pytest.mark.parametrize("family", FAMILIES)
def test_a_published_checkpoint_has_its_own_weights_and_its_readers_attention(family, tmp_path):
    folder = save_tiny(family, tmp_path / "tiny", published=True)
    own, stored = load_checkpoint(folder).state_dict(), load_file(folder / "model.safetensors")
    prefix, read = "" if family == "bart" else f"{family}.", 0
    for name, weights in stored.items():
        for new, old in OLD_NAMES.items():
            name = name.replace(old, new)
        if (bare := name.removeprefix(prefix)) in own:
            assert torch.equal(own[bare], weights), name
            read += weights.numel()
    free = [n for n in own if n.startswith("pooler.") or n.endswith("coder.embed_tokens.weight")]
    assert read >= sum(w.numel() for w in own.values()) - sum(own[n].numel() for n in free)
    whole = AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    with torch.no_grad():
        output = whole(torch.tensor([IDS]), output_attentions=True)
    theirs = output.encoder_attentions if family == "bart" else output.attentions
    ours = forward(load_checkpoint(folder), IDS)
    assert torch.equal(ours, torch.stack([layer[0] for layer in theirs]))


def test_a_random_checkpoint_depends_on_its_seed_alone(bert, tmp_path):
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        (tmp_path / name).mkdir()
        torch.rand(3)  # whatever was drawn before must not matter
        save_checkpoint(random_model(bert, seed), tmp_path / name, bert)
    weights = [(tmp_path / n / "model.safetensors").read_bytes() for n in "abc"]
    assert weights[0] == weights[1] != weights[2]
    load_checkpoint(tmp_path / "a")


def test_a_model_in_train_mode_or_without_eager_attention_is_refused(bert):
    with pytest.raises(OnelayerError, match="eager attention"):
        forward(AutoModel.from_pretrained(bert, attn_implementation="sdpa").eval(), IDS)
    torch.manual_seed(0)
    with pytest.raises(OnelayerError, match="eval mode"):
        forward(load_checkpoint(bert).train(), [1, 5, 6, 7, 8, 2])


def test_hidden_states_that_begin_behind_a_layer_are_refused(tmp_path):
    model = load_checkpoint(save_tiny("gpt2", tmp_path / "tiny"))

    def hook(module, arguments, output):
        output["hidden_states"] = (output["hidden_states"][1], *output["hidden_states"][1:])
        return output

    model.register_forward_hook(hook)
    with pytest.raises(OnelayerError, match="its first hidden state depends on the words around"):
        word_embeddings(model, IDS)


def in_shards(folder):
    """Cut a checkpoint's weights into three shards as `save_pretrained` does; the whole weights."""
    weights = load_file(folder / "model.safetensors")
    AutoModel.from_pretrained(folder).save_pretrained(folder, max_shard_size="8KB")
    (folder / "model.safetensors").unlink(missing_ok=True)
    assert len(list(folder.glob("model-*-of-*.safetensors"))) > 2
    return weights


def as_pickle(folder):
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()


def in_shards_of_pickle(folder):
    weights, weight_map = load_file(folder / "model.safetensors"), {}
    (folder / "model.safetensors").unlink()
    for n in range(3):
        part = dict(list(weights.items())[n::3])
        torch.save(part, folder / f"pytorch_model-{n}.bin")
        weight_map |= dict.fromkeys(part, f"pytorch_model-{n}.bin")
    index = {"metadata": {}, "weight_map": weight_map}
    (folder / "pytorch_model.bin.index.json").write_text(json.dumps(index))


LAYOUTS = {"shards": in_shards, "pickle": as_pickle, "shards of pickle": in_shards_of_pickle}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_weights_in_any_layout_are_the_same_model_and_become_one_file(layout, bert, target):
    whole = load_checkpoint(bert).state_dict()
    LAYOUTS[layout](bert)
    check_folder(str(bert))
    gather_checkpoint(bert, target)
    for path in target.iterdir():
        if path.name not in FILES:  # a step takes the four
            path.unlink()
    for folder in (bert, target):
        found = load_checkpoint(folder).state_dict()
        assert all(torch.equal(found[name], weights) for name, weights in whole.items())


@pytest.mark.parametrize("layout", ["shards", "shards of pickle"])
def test_a_missing_shard_is_named_before_anything_is_loaded(layout, bert, target, monkeypatch):
    LAYOUTS[layout](bert)
    shard = sorted(bert.glob("*model-*"))[-1]
    shard.unlink()
    monkeypatch.setattr(torch, "load", None)
    for read in (load_checkpoint, check_folder, lambda b: gather_checkpoint(b, target)):
        with pytest.raises(OnelayerError, match=rf"folder .*bert.*{shard.name}"):
            read(bert)


def test_shards_come_from_a_hub_at_a_pinned_commit(bert, target, tmp_path, monkeypatch):
    whole = in_shards(bert)
    hub = Hub(files={"models/a/bert": {path.name: path.read_bytes() for path in bert.iterdir()}})
    repository = Repository("model", HubRepository(repository="a/bert", revision=COMMIT))
    with serve(hub):
        become_a_client(hub, tmp_path, monkeypatch)
        gather_checkpoint(repository, target)
        found = load_checkpoint(target).state_dict()
        assert all(torch.equal(found[name], weights) for name, weights in whole.items())
        shard = sorted(name for name in hub.files["models/a/bert"] if "-of-" in name)[0]
        del hub.files["models/a/bert"][shard]
        shutil.rmtree(tmp_path / "hub")
        monkeypatch.setattr(AutoModel, "from_pretrained", None)
        with pytest.raises(OnelayerError, match=f"{shard} of model a/bert at {COMMIT}: .*no such"):
            gather_checkpoint(repository, target)


def test_a_whole_file_goes_before_an_index_beside_it_and_the_log_says_so(bert, caplog):
    whole = load_checkpoint(bert).state_dict()
    shutil.copy(bert / "model.safetensors", bert / "kept")
    in_shards(bert)
    (bert / "kept").rename(bert / "model.safetensors")
    (bert / "pytorch_model.bin").write_bytes(b"never read")
    next(bert.glob("model-*")).unlink()  # nor is a missing shard missed
    with caplog.at_level(logging.INFO, "onelayer"):
        found = load_checkpoint(bert).state_dict()
    assert torch.equal(*(state["embeddings.word_embeddings.weight"] for state in (whole, found)))
    assert "weights are read from model.safetensors; left alone: model-" in caplog.text
    assert "model.safetensors.index.json" in caplog.text and "pytorch_model.bin" in caplog.text


class Code:
    def __reduce__(self):
        return (print, ("run",))


@pytest.mark.parametrize("held", [Code(), [1, 2], {"a": 5}, {"a": Code()}])
def test_a_pickle_of_more_than_tensors_is_refused_and_not_run(held, bert, target, capsys):
    (bert / "model.safetensors").unlink()
    (bert / "pytorch_model.bin").write_bytes(pickle.dumps(held, protocol=2))
    for read in (load_checkpoint, lambda b: gather_checkpoint(b, target)):
        with pytest.raises(OnelayerError, match=r"^folder .*bert: ") as refused:
            read(bert)
        assert "\n" not in str(refused.value) and len(str(refused.value)) < 600
    assert capsys.readouterr().out == ""


def rewrite(folder, change):
    weights = change(load_file(folder / "model.safetensors"))
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def link(folder, name):
    shutil.move(folder / name, folder.parent / "outside")
    (folder / name).symlink_to(folder.parent / "outside")


def holding(name, content):
    return lambda folder: (folder / name).write_bytes(content)


SPOILED = {
    "remote code": (lambda f: edit_config(f, auto_map={"AutoModel": "a.b"}), "remote code"),
    "remote kernel": (lambda f: edit_config(f, attn_implementation="a/b"), "remote code"),
    "remote tokenizer": (holding("tokenizer_config.json", b'{"auto_map": {}}'), "remote code"),
    "unknown architecture": (lambda f: edit_config(f, model_type="birt"), "'birt' is not known"),
    "too many experts": (lambda f: edit_config(f, num_experts=10**9), "at most 1000 is taken"),
    "no number": (lambda f: edit_config(f, hidden_size="x"), "transformers cannot load"),
    "negative": (lambda f: edit_config(f, hidden_size=-1), "transformers cannot load"),
    "no JSON": (holding("config.json", b"[" * 10**5), "config.json of .* not a JSON object"),
    "no object": (holding("config.json", b"5"), "config.json of .* not a JSON object"),
    "no tokenizer": (holding("tokenizer.json", b"{}"), "tokenizer.json of .* not a tokenizer"),
    "no safetensors": (holding("model.safetensors", b"\xff" * 8), "model.safetensors of .* whole"),
    "no weights": (lambda f: (f / "model.safetensors").rename(f / "a.ckpt"), "found a.ckpt; read"),
    "another's tokenizer": (
        lambda f: edit_config(f, vocab_size=len(PIECES) - 1),
        f"embeddings of 0 to {len(PIECES) - 2} alone",
    ),
    "larger": (
        lambda f: edit_config(f, vocab_size=2**31 - 1, hidden_size=2**16),
        "weights in two layers",
    ),
    "missing": (
        lambda f: rewrite(f, lambda w: {n: w[n] for n in w if "layer.1.output" not in n}),
        "weights are missing",
    ),
    "other shape": (lambda f: rewrite(f, lambda w: {n: w[n][None] for n in w}), "shape .1, "),
    "not finite": (lambda f: rewrite(f, lambda w: {n: w[n] / 0 for n in w}), "NaN or infinite"),
    **{f"link {n}": (partial(link, name=n), f"{n} is a link out of it") for n in FILES},
}


@pytest.mark.parametrize("kind", SPOILED)
def test_what_is_no_checkpoint_is_refused_in_one_line_that_names_it(kind, bert, target):
    spoil, message = SPOILED[kind]
    spoil(bert)
    with pytest.raises(OnelayerError, match=message) as refused:
        gather_checkpoint(bert, target)
    assert "\n" not in str(refused.value) and str(bert) in str(refused.value)
    if kind not in ("missing", "other shape", "not finite"):  # seen when settings are read
        with pytest.raises(OnelayerError, match=message):
            check_folder(str(bert))


def test_a_snapshot_of_the_hubs_cache_is_no_link_out_of_its_folder(bert, tmp_path):
    snapshot, blobs = tmp_path / "models--a--b/snapshots/0", tmp_path / "models--a--b/blobs"
    snapshot.mkdir(parents=True)
    shutil.copytree(bert, blobs)
    for name in FILES:
        (snapshot / name).symlink_to(blobs / name)
    check_folder(str(snapshot))


SMALL = {"hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 64, "vocab_size": 99}
LONGFORMER = SMALL | {"attention_window": [512] * 12}


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("t5", {"d_model": 32, "d_kv": 8, "num_heads": 4, "d_ff": 64, "vocab_size": 99}),
        ("bloom", {"hidden_size": 32, "n_head": 4, "n_layer": 24, "vocab_size": 99}),
        ("big_bird", SMALL | {"max_position_embeddings": 4096}),  # read without sparse blocks
    ],
)
def test_other_architectures_with_full_attention_can_be_probed(name, shape, tmp_path):
    config = AutoConfig.for_model(name, **shape)
    AutoModel.from_config(config).save_pretrained(tmp_path)
    check_architecture(tmp_path, "folder x")
    assert forward(load_checkpoint(tmp_path), [5, 6] * 8).shape[2:] == (16, 16)


@pytest.mark.parametrize(
    ("name", "shape", "message"),
    [
        (
            "longformer",
            LONGFORMER,
            r"LongformerModel returned .* \[1, 4, 510, 513\]",
        ),
        ("mamba", {"hidden_size": 32, "vocab_size": 99}, "MambaModel returned .* 0 of 2 layers"),
        ("fnet", SMALL, "FNetModel returned attention weights for 0 of 2 layers"),
        ("vit", SMALL, "ViTModel reads pixel_values"),
    ],
)
def test_what_cannot_be_probed_is_seen_in_the_configuration_alone(name, shape, message, tmp_path):
    AutoConfig.for_model(name, **shape).save_pretrained(tmp_path)
    with pytest.raises(OnelayerError, match=f"^folder x: {message}") as refused:
        check_architecture(tmp_path, "folder x")
    assert "\n" not in str(refused.value)


def test_a_folder_that_cannot_be_probed_ends_snakemake_in_one_line_before_the_first_job(tmp_path):
    AutoConfig.for_model("longformer", **LONGFORMER).save_pretrained(tmp_path)
    overlay = tmp_path / "overlay.yaml"
    overlay.write_text(f"models: {{long: {{source: local, local: {{path: {tmp_path}}}}}}}")
    done = snakemake("--directory", tmp_path, "--configfile", overlay, "--dry-run")
    assert done.returncode != 0 and not (tmp_path / "results").exists()
    (line,) = [line for line in done.stdout.splitlines() if tmp_path.name in line]
    expected = f"config: models.long.local.path: folder {tmp_path}: LongformerModel returned"
    assert line.startswith(expected) and "Traceback" not in done.stdout


def test_of_a_large_model_no_weights_are_made_to_see_what_can_be_probed(tmp_path, monkeypatch):
    wide = SMALL | {"vocab_size": 10**7}  # 1.3 GB
    AutoConfig.for_model("bert", **wide).save_pretrained(tmp_path)
    build, devices = AutoModel.from_config, []
    note = lambda *a, **k: devices.append(torch.get_default_device()) or build(*a, **k)  # noqa: E731
    monkeypatch.setattr(AutoModel, "from_config", note)
    check_architecture(tmp_path, "folder x")
    assert devices == [torch.device("meta")]
    AutoConfig.for_model("fnet", **wide).save_pretrained(tmp_path)
    with pytest.raises(OnelayerError, match="attention weights for 0 of 2 layers"):
        check_architecture(tmp_path, "folder x")


LOCAL = {"source": "local", "local": {"path": "x"}}
TRAINED = {"source": "pretrain", "family": "bert"}


@pytest.mark.parametrize(
    ("models", "message"),
    [
        ({"a": {"source": "hub", "local": {"path": "x"}}}, "source hub needs `hub`, and no other"),
        ({"a": TRAINED, "a-0": LOCAL}, "two models have a checkpoint a-0"),
    ],
)
def test_bad_settings_are_refused(models, message):
    with pytest.raises(pydantic.ValidationError, match=message):
        pydantic.TypeAdapter(Models).validate_python(models)
