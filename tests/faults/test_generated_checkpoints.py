"""Whatever lies where a checkpoint should be is taken, or refused in one line with its name."""

import json
import shutil
import struct
import tracemalloc
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from safetensors.torch import load_file, save_file

from onelayer.errors import OnelayerError
from onelayer.settings.models import CHECKPOINT_FILES
from onelayer.text.models.checkpoints import load_checkpoint
from onelayer.text.models.folder import check_folders
from onelayer.text.models.tokenizer import load_tokenizer
from tests.faults.generated import GENERATED, Cases, check_ended, run_in_process, spoiled
from tests.tiny_models import edit_config, save_tiny_bert

CONFIG, WEIGHTS, TOKENIZER, TOKENIZER_CONFIG = CHECKPOINT_FILES
Spoil = Callable[[Path], object]
COUNTS = ["num_hidden_layers", "hidden_size", "vocab_size", "num_attention_heads", "num_labels"]
DEEP = 100_000


def configured(**fields: object) -> Spoil:
    return lambda folder: edit_config(folder, **fields)


def holding(name: str, *contents: bytes) -> list[Spoil]:
    return [lambda folder, c=content: (folder / name).write_bytes(c) for content in contents]


def header(tensors: object, body: bytes = b"") -> bytes:
    text = json.dumps(tensors).encode()
    return struct.pack("<Q", len(text)) + text + body


def tensor(shape: Iterable[int], end: int, dtype: str = "F32") -> dict[str, object]:
    return {"dtype": dtype, "shape": [*shape], "data_offsets": [0, end]}


def weights(change: Callable[[torch.Tensor], torch.Tensor]) -> Spoil:
    def spoil(folder: Path) -> None:
        changed = {name: change(w).contiguous() for name, w in load_file(folder / WEIGHTS).items()}
        save_file(changed, folder / WEIGHTS, metadata={"format": "pt"})

    return spoil


def without(*names: str) -> Spoil:
    def spoil(folder: Path) -> None:
        kept = {n: w for n, w in load_file(folder / WEIGHTS).items() if not n.startswith(names)}
        save_file(kept, folder / WEIGHTS, metadata={"format": "pt"})

    return spoil


def linked(name: str, target: str) -> Spoil:
    def spoil(folder: Path) -> None:
        outside = folder.parent / "outside"
        shutil.move(folder / name, outside)
        (folder / name).symlink_to(outside if target == "outside" else target)

    return spoil


def a_folder(name: str) -> Spoil:
    def spoil(folder: Path) -> None:
        (folder / name).unlink()
        (folder / name).mkdir()

    return spoil


REFUSED: Mapping[str, list[Spoil]] = {
    "counts": [
        configured(**{key: value})
        for key in COUNTS
        for value in (-1, "x", 1.5, [], 10**30, 10**9)
        if (key, value) != ("num_labels", -1)
    ],
    "configuration": [
        *(configured(hidden_act=value) for value in ("evil", 5)),
        *(configured(model_type=value) for value in (["bert"], {}, "../x", None, 5, "x" * 9999)),
        *(configured(dtype="x"), configured(id2label="x"), configured(hidden_dropout_prob=7)),
        *(configured(pad_token_id=10**6), configured(layer_norm_eps="x")),
        *(configured(auto_map={"AutoModel": "a.b"}), configured(attn_implementation="a/kernel")),
        configured(attn_implementation={"": "a/kernel"}),
        *(configured(_attn_implementation="a/kernel"), configured(is_encoder_decoder=True)),
        *holding(CONFIG, b"", b"null", b"5", b"\xff", b"[" * DEEP, b'{"a":' * DEEP, b"{}"),
        *(linked(CONFIG, "outside"), linked(CONFIG, "/nowhere"), linked(CONFIG, CONFIG)),
        a_folder(CONFIG),
    ],
    "tokenizer": [
        *holding(TOKENIZER, b"", b"{}", b"[]", b"\xff", b"[" * DEEP, b'{"version": "1.0"}'),
        *holding(TOKENIZER_CONFIG, b"", b"5", b"\xff", b"[" * DEEP, b'{"auto_map": {"a": "b"}}'),
        *(linked(TOKENIZER, "outside"), linked(TOKENIZER_CONFIG, "outside"), a_folder(TOKENIZER)),
    ],
    "weights": [
        *holding(WEIGHTS, b"", bytes(8), b"\xff" * 8, b"\xff" * 7 + b"\x7f{}", header({})),
        *holding(WEIGHTS, header(None), header([[[]]]), header({"__metadata__": {"format": "tf"}})),
        *holding(WEIGHTS, header({"a": tensor([10**12], 4 * 10**12)})),
        *holding(WEIGHTS, header({"a": tensor([], 4)})),
        *holding(WEIGHTS, header({"a": tensor([2**40, 2**40], 8)}, bytes(8))),
        *holding(WEIGHTS, header({"a": tensor([1], 4), "b": tensor([1], 4)}, bytes(4))),
        *holding(WEIGHTS, header({"a": tensor([1], 4, "XX")}, bytes(4))),
        *holding(WEIGHTS, header({"a": tensor([-1], 4)}, bytes(4))),
        *(without("encoder"), without("embeddings."), without("encoder.layer.1.output")),
        *(weights(lambda w: w * torch.nan), weights(lambda w: w / 0), weights(lambda w: w[:0])),
        *(weights(lambda w: w[None]), weights(lambda w: torch.cat([w, w]))),
        *(linked(WEIGHTS, "outside"), linked(WEIGHTS, "/nowhere"), a_folder(WEIGHTS)),
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_bert(tmp_path_factory.mktemp("whole") / "model")


@pytest.fixture
def take(whole, tmp_path, monkeypatch):
    """Look at a spoiled copy where it lies, then copy it as the step does."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "mine"
    outputs = [tmp_path / "model" / name for name in CHECKPOINT_FILES]

    def run(spoil: Spoil) -> int:
        for left in (folder, outputs[0].parent):
            shutil.rmtree(left, ignore_errors=True)
        (tmp_path / "outside").unlink(missing_ok=True)
        shutil.copytree(whole, folder)
        spoil(folder)
        try:
            check_folders({"models.mine.local.path": str(folder)})
        except OnelayerError as error:
            line = str(error)
            assert line.startswith("config: models.mine.local.path: ") and str(folder) in line
            assert line.isprintable() and len(line) < 1200
        arguments = ("--files", folder, "--model", *outputs)
        settings = json.dumps({"local": {"path": str(folder)}})
        ended = run_in_process("copy_local_model", *arguments, "--settings", settings)
        check_ended(ended, outputs, folder)
        return ended.code

    return run


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_no_checkpoint_is_refused_by_name_and_nothing_is_written(kind, take, request):
    assert take(lambda folder: None) == 0
    taken = [place for place, spoil in enumerate(REFUSED[kind]) if take(spoil) == 0]
    assert not taken
    Cases(request.node).count(len(REFUSED[kind]))


@pytest.mark.parametrize("name", CHECKPOINT_FILES)
def test_a_damaged_checkpoint_is_taken_or_refused_by_name(name, take, whole, request):
    cases = Cases(request.node)

    @settings(GENERATED, max_examples=6)
    @given(spoiled((whole / name).read_bytes()))
    def tried(content: bytes) -> None:
        take(lambda folder: (folder / name).write_bytes(content))
        cases.count()

    tried()


def test_a_snapshot_of_the_hubs_cache_is_no_link_out_of_its_folder(whole, tmp_path):
    snapshot, blobs = tmp_path / "models--a--b/snapshots/0", tmp_path / "models--a--b/blobs"
    for folder in (snapshot, blobs):
        folder.mkdir(parents=True)
    for name in CHECKPOINT_FILES:
        shutil.copy(whole / name, blobs / name)
        (snapshot / name).symlink_to(blobs / name)
    check_folders({"models.mine.local.path": str(snapshot)})


@pytest.mark.parametrize("name", CHECKPOINT_FILES)
def test_no_link_out_of_a_folder_is_looked_into(name, whole, tmp_path):
    folder = Path(shutil.copytree(whole, tmp_path / "mine"))
    linked(name, "outside")(folder)
    with pytest.raises(OnelayerError, match=rf"{name} is a link out of it, to .*/outside; put"):
        check_folders({"models.mine.local.path": str(folder)})


def test_no_memory_is_made_for_a_model_that_its_weights_do_not_fill(whole, tmp_path):
    folder = Path(shutil.copytree(whole, tmp_path / "mine"))
    edit_config(folder, vocab_size=2**31 - 1, hidden_size=2**16, num_attention_heads=2)
    with pytest.raises(OnelayerError, match=r"config\.json describes a model of [0-9]+ weights"):
        load_checkpoint(folder)


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "tokenizer_config.json"])
def test_a_file_that_would_fill_the_memory_is_refused_before_it_is_read(name, whole, tmp_path):
    shutil.copytree(whole, tmp_path / "mine")
    with open(tmp_path / "mine" / name, "wb") as file:
        file.truncate(1 << 30)  # takes no room on the disk
    tracemalloc.start()
    with pytest.raises(OnelayerError, match=rf"{name} of .*: 1073741824 bytes; at most"):
        check_folders({"models.mine.local.path": str(tmp_path / "mine")})
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 1 << 26
    if name != "tokenizer_config.json":  # which no function for users reads
        load = load_checkpoint if name == "config.json" else load_tokenizer
        with pytest.raises(OnelayerError, match=rf"{name}: 1073741824 bytes; at most"):
            load(tmp_path / "mine")


def test_what_to_do_with_pickled_weights_of_a_folder_is_said_for_a_folder(whole, tmp_path):
    folder = Path(shutil.copytree(whole, tmp_path / "mine"))
    (folder / "model.safetensors").rename(folder / "weights.ckpt")
    with pytest.raises(OnelayerError, match=r"weights\.ckpt, which is pickle .* save_pretrained$"):
        check_folders({"models.mine.local.path": str(folder)})
    (folder / "weights.ckpt").rename(folder / "pytorch_model.bin")
    check_folders({"models.mine.local.path": str(folder)})  # tensors alone are taken
