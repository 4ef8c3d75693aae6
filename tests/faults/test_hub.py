"""Downloads from a model hub that misbehaves, and checkpoints that must not be taken."""

import io
import json
import subprocess
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
import safetensors.torch
import torch
import yaml
from huggingface_hub.errors import HfHubHTTPError

from onelayer.fetching.hub import PassingError, Repository
from onelayer.settings.hub import HubRepository
from onelayer.settings.models import HubModel
from onelayer.text.corpus.storage import read_column
from onelayer.text.models.checkpoints import NEVER_PROBED, load_checkpoint
from tests.conftest import ROOT, clean_environment, run_script, run_step
from tests.faults.conftest import error_line, sha256
from tests.hub import COMMIT, TOKEN, Hub, become_a_client, serve
from tests.steps import forking
from tests.tiny_models import FAMILIES, edit_config, save_tiny, save_tiny_bert

MODEL, CORPUS = "models/tiny/bert", "datasets/tiny/corpus"
SHARDS = [f"20231101.en/train-0000{i}-of-00002.parquet" for i in (0, 1)]
ENGLISH = ["one", "two", "three"]
CARD = """---
configs:
- config_name: 20231101.en
  data_files: [{split: train, path: 20231101.en/train-*}]
- config_name: wikitext
  data_files: [{split: train, path: wikitext/train-*}, {split: test, path: wikitext/test-*}]
---
# A corpus, laid out as wikimedia/wikipedia and Salesforce/wikitext are
"""
FILES = ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]


def parquet(**columns: list) -> bytes:
    file = io.BytesIO()
    pd.DataFrame(columns).to_parquet(file)
    return file.getvalue()


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_bert(tmp_path_factory.mktemp("checkpoint") / "bert")


@pytest.fixture
def hub(checkpoint: Path) -> Iterator[Hub]:
    with serve(Hub()) as hub:
        hub.add(MODEL, checkpoint)
        files = {SHARDS[0]: parquet(text=ENGLISH[:2]), SHARDS[1]: parquet(text=ENGLISH[2:])}
        files |= {f"wikitext/{s}-0.parquet": parquet(text=["line"]) for s in ("train", "test")}
        hub.add(CORPUS, files | {"README.md": CARD.encode()})
        yield hub


@pytest.fixture
def model(hub: Hub, fetch: Callable, tmp_path: Path, monkeypatch) -> SimpleNamespace:
    """A checkpoint on the hub, and the command that fetches it into an empty folder."""
    become_a_client(hub, tmp_path / "home", monkeypatch)
    folder = tmp_path / "model"
    settings = {"repository": "tiny/bert", "revision": COMMIT}

    def run():
        return fetch(
            "fetch_hub_model",
            *("--model", *(folder / name for name in FILES)),
            *("--settings", json.dumps({"hub": settings}), "--log", tmp_path / "log.txt"),
            *("--record", tmp_path / "record.json"),
        )

    def fails() -> str:
        line = error_line(run())
        assert list(folder.glob("*")) == []
        return line

    return SimpleNamespace(
        run=run,
        fails=fails,
        settings=settings,
        folder=folder,
        read=lambda name: (folder / name).read_bytes(),
        files=hub.files[MODEL],
        log=tmp_path / "log.txt",
        record=tmp_path / "record.json",
    )


def succeeds(model: SimpleNamespace) -> str:
    """Fetch the checkpoint, whole, and return what the step said."""
    run = model.run()
    assert run.returncode == 0, run.stderr
    assert sorted(path.name for path in model.folder.iterdir()) == FILES
    for name in FILES:
        assert model.read(name) == model.files[name]
    return run.stderr


def test_a_checkpoint_arrives_unchanged_alone_and_with_its_sums_on_record(hub, model):
    hub.files[MODEL] |= {"pytorch_model.bin": b"pickle", "modeling.py": b"boom", "tf_model.h5": b""}
    assert succeeds(model) == ""
    assert hub.downloads == 4
    outputs = json.loads(model.record.read_text())["outputs"]
    assert set(outputs.values()) == {sha256(model.files[name]) for name in FILES}


def test_what_was_downloaded_once_is_not_asked_for_again(hub, model):
    succeeds(model)
    hub.requests.clear()
    assert succeeds(model) == ""
    assert hub.requests == []


def test_a_repository_without_tokenizer_settings_is_whole(hub, model):
    # facebook/bart-base is like this.
    del hub.files[MODEL]["tokenizer_config.json"]
    run = model.run()
    assert run.returncode == 0, run.stderr
    assert model.read("tokenizer_config.json") == b"{}\n"


def test_the_hub_may_be_busy_twice(hub, model):
    hub.busy = 2
    said = succeeds(model)
    assert "attempt 1 of 3" in said and "attempt 2 of 3" in said and "status 503" in said


@pytest.mark.parametrize(
    ("status", "passes"), [(408, True), (429, True), (502, True), (418, False)]
)
def test_what_may_pass_is_worth_another_attempt(status, passes):
    repository = Repository("model", HubRepository(repository="tiny/bert", revision=COMMIT))
    answer = SimpleNamespace(status_code=status, headers={}, request=None)
    error = repository._explain(HfHubHTTPError("no", response=answer), "config.json")
    assert isinstance(error, PassingError) == (status != 418)
    assert f"status {status}" in str(error)


def test_a_hub_that_stays_busy_is_given_up(hub, model):
    hub.busy = 1000
    line = model.fails()
    assert f"could not download config.json of model tiny/bert at {COMMIT}" in line
    assert f"from {hub.url}: status 503" in line


@pytest.mark.parametrize("ranges", [True, False])
def test_a_download_that_breaks_off_is_continued_or_begun_again(hub, model, ranges):
    hub.cut, hub.ranges = 2, ranges
    assert succeeds(model) == ""


def test_a_hub_that_breaks_off_every_answer_is_given_up(hub, model):
    hub.cut = -1
    assert "could not download config.json of model tiny/bert" in model.fails()
    assert hub.downloads < 50


def test_content_that_is_not_what_git_knows_is_fetched_again(hub, model):
    hub.altered = 1
    assert "config.json of model tiny/bert" in (said := succeeds(model))
    assert "is altered: expected sum" in said


def test_content_that_stays_altered_is_refused_with_both_sums(hub, model):
    hub.altered = 1000
    assert "is altered: expected sum" in model.fails()


def test_content_is_checked_against_a_sum_in_the_settings(model):
    model.settings["sums"] = {"model.safetensors": "0" * 64}
    found = sha256(model.files["model.safetensors"])
    line = model.fails()
    assert f"model.safetensors of model tiny/bert at {COMMIT}: expected sha256 {'0' * 64}" in line
    assert f"found {found}" in line


@pytest.mark.parametrize("token", ["", TOKEN])
def test_a_repository_that_does_not_exist_is_named(hub, model, monkeypatch, token):
    monkeypatch.setenv("HF_TOKEN", token)
    model.settings["repository"] = "tiny/brat"
    line = model.fails()
    assert f"model tiny/brat is not on {hub.url}, or is private" in line
    assert ("HF_TOKEN is set" if token else "HF_TOKEN is not set") in line
    assert len(hub.requests) < 5


def test_a_commit_that_does_not_exist_is_named_with_where_to_look(hub, model):
    model.settings["revision"] = "b" * 40
    line = model.fails()
    assert f"model tiny/bert has no commit {'b' * 40}: its page on {hub.url} lists them" in line
    assert len(hub.requests) < 5


@pytest.mark.parametrize("revision", ["main", COMMIT[:7], None])
def test_a_revision_that_may_move_is_refused_with_what_it_should_be(model, hub, revision):
    model.settings["revision"] = revision
    assert "40 hexadecimal digits of a commit" in model.fails()
    assert hub.requests == []


@pytest.mark.parametrize("token", ["", "hf_herring"])
def test_a_gated_repository_says_what_opens_it(hub, model, monkeypatch, token):
    hub.gated.add(MODEL)
    monkeypatch.setenv("HF_TOKEN", token)
    line = model.fails()
    assert "model tiny/bert is gated: accept its conditions on its page" in line
    assert f"(HF_TOKEN is {'set' if token else 'not set'})" in line
    assert "herring" not in line + model.log.read_text()


def test_a_token_opens_a_gated_repository_and_is_written_nowhere(hub, model, monkeypatch, tmp_path):
    hub.gated.add(MODEL)
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    said = succeeds(model)
    assert hub.tokens == {f"Bearer {TOKEN}"}
    written = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert not [text for text in [said.encode(), *written] if b"swordfish" in text]


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        ("config.json", "holds no config.json"),
        ("tokenizer.json", "holds no tokenizer.json: transformers' AutoTokenizer writes it"),
        ("model.safetensors", "holds no model.safetensors and no other weights"),
    ],
)
def test_a_repository_without_a_file_is_refused_by_its_name(hub, model, missing, message):
    del hub.files[MODEL][missing]
    assert f"model tiny/bert at {COMMIT} {message}" in model.fails()


def test_other_pickled_weights_are_refused_and_never_downloaded(hub, model):
    hub.files[MODEL]["weights.pt"] = hub.files[MODEL].pop("model.safetensors")
    line = model.fails()
    assert "found weights.pt, which is pickle and refused" in line
    assert "name a commit that has safetensors" in line
    assert not [r for r in hub.requests if "GET" in r and ".pt" in r]


def pickled(hub: Hub, value: object, zipped: bool = True) -> None:
    """Put what `torch.save` writes of a value in the place of the safetensors."""
    file = io.BytesIO()
    torch.save(value, file, _use_new_zipfile_serialization=zipped)
    hub.files[MODEL].pop("model.safetensors")
    hub.files[MODEL]["pytorch_model.bin"] = file.getvalue()


@pytest.mark.parametrize("zipped", [True, False], ids=["as a zip", "as before torch 1.6"])
def test_tensors_of_a_pytorch_file_come_as_safetensors(zipped, hub, model):
    """Old files are ordered, know the version of every module, and hold parameters, too."""
    tensors = safetensors.torch.load(hub.files[MODEL]["model.safetensors"])
    tied = next(iter(tensors.values()))
    state = OrderedDict(tensors | {"tied.weight": torch.nn.Parameter(tied)})
    state._metadata = OrderedDict({"": {"version": 1}})
    pickled(hub, state, zipped)
    run = model.run()
    assert run.returncode == 0, run.stderr
    assert sorted(path.name for path in model.folder.iterdir()) == FILES
    found = safetensors.torch.load(model.read("model.safetensors"))
    assert found.keys() == tensors.keys() | {"tied.weight"}
    assert all(torch.equal(found[name], tensor) for name, tensor in tensors.items())


@pytest.mark.parametrize("family", FAMILIES)
def test_a_published_checkpoint_of_a_pytorch_file_is_read_as_from_safetensors(
    family, hub, model, tmp_path
):
    """With heads, prefixes, tied weights and old names of LayerNorm, as the five are published."""
    folder = save_tiny(family, tmp_path / family, published=True)
    hub.files[MODEL].update((path.name, path.read_bytes()) for path in folder.iterdir())
    pickled(hub, safetensors.torch.load_file(folder / "model.safetensors"))
    run = model.run()
    assert run.returncode == 0, run.stderr
    expected, found = (
        {
            name: tensor
            for name, tensor in load_checkpoint(place).state_dict().items()
            if not name.startswith(NEVER_PROBED)  # some are published without
        }
        for place in (folder, model.folder)
    )
    assert found.keys() == expected.keys()
    assert all(torch.equal(found[name], tensor) for name, tensor in expected.items())


class Shell:
    def __reduce__(self):
        return (open, ("pwned", "w"))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"weight": Shell()}, "asks for more than tensors"),
        ({"weight": [1, 2]}, "'weight' is list, not a tensor"),
        ({3: torch.ones(2)}, "'3' is Tensor, not a tensor"),
        (torch.ones(2), "holds no tensors by name"),
        ({}, "holds no tensors by name"),
    ],
)
@pytest.mark.parametrize("zipped", [True, False], ids=["as a zip", "as before torch 1.6"])
def test_a_pytorch_file_of_anything_else_is_refused(zipped, value, message, hub, model, tmp_path):
    pickled(hub, value, zipped)
    line = model.fails()
    assert f"pytorch_model.bin of model tiny/bert at {COMMIT} is refused" in line
    assert message in line
    assert not list(tmp_path.rglob("pwned")) and not Path("pwned").exists()


def test_a_pytorch_file_cut_short_is_refused(hub, model):
    pickled(hub, {"weight": torch.ones(1000)})
    whole = hub.files[MODEL]["pytorch_model.bin"]
    hub.files[MODEL]["pytorch_model.bin"] = whole[: len(whole) // 2]
    assert "is refused: it is not whole" in model.fails()


# What a hub holds, asked before anything is computed.


def pin(*arguments: object) -> subprocess.CompletedProcess:
    return run_script(forking(), "-m", "onelayer", "pin", *arguments, folder=ROOT)


def test_the_entry_of_a_repository_is_that_of_its_commit(hub, model):
    hub.files[MODEL]["README.md"] = b"a card"
    run = pin("tiny/bert")
    assert run.returncode == 0, run.stderr
    found = yaml.safe_load(run.stdout)["models"]["bert"]
    assert HubModel(**found).hub.revision == COMMIT
    assert found["hub"]["sums"] == {name: sha256(model.files[name]) for name in FILES}
    assert not [r for r in hub.requests if r.startswith("GET") and "safetensors" in r]
    hub.files[MODEL].pop("tokenizer.json")
    for name, line in (
        ("tiny/bert", f"tiny/bert at {COMMIT} holds no tokenizer.json"),
        ("tiny", "a repository is OWNER/NAME"),
        ("tiny/other", "is not on"),
    ):
        run = pin(name)
        assert run.returncode == 1 and line in run.stderr and run.stderr.count("\n") == 1


def test_a_hub_is_asked_for_every_file_of_an_overlay(hub, model, tmp_path):
    overlay = {
        "models": {
            name: {"source": "hub", "hub": {"repository": f"tiny/{name}", "revision": COMMIT}}
            for name in ("bert", "absent")
        },
        "corpora": {
            "wiki": {
                "source": {"dataset": "tiny/corpus", "config": "20231101.en", "revision": COMMIT},
                "parse": {"format": "parquet"},
                "credit": "nobody",
            }
        },
    }
    path = tmp_path / "overlay.yaml"
    path.write_text(yaml.safe_dump(overlay))
    run = pin("--check", path)
    assert run.returncode == 1
    assert run.stderr == "onelayer: pin: 1 of 3 entries are not on the hub as named\n"
    said = run.stdout.splitlines()
    assert f"models.bert: model tiny/bert at {COMMIT}: there, with model.safetensors" in said
    assert f"corpora.wiki: dataset tiny/corpus at {COMMIT}: there, 2 files" in said
    assert [line for line in said if line.startswith("models.absent: model tiny/absent is not on")]
    hub.add("models/tiny/absent", hub.files[MODEL])
    run = pin("--check", path)
    assert run.returncode == 0 and len(run.stdout.splitlines()) == 3, run.stderr
    assert not [r for r in hub.requests if r.startswith("GET") and "safetensors" in r]
    for arguments, line in (((), "name a repository"), (("--check", tmp_path), "not an overlay")):
        run = pin(*arguments)
        assert run.returncode == 1 and line in run.stderr


def test_weights_in_several_files_are_refused_by_name(hub, model):
    part = "model-00001-of-00002.safetensors"
    hub.files[MODEL][part] = hub.files[MODEL].pop("model.safetensors")
    assert f"found {part}; weights must be in one file" in model.fails()


@pytest.mark.parametrize("file", ["config.json", "tokenizer_config.json"])
def test_a_request_for_remote_code_is_refused_before_the_weights_come(hub, model, file):
    hub.files[MODEL][file] = json.dumps({"auto_map": {"AutoModel": "modeling.Trap"}}).encode()
    hub.files[MODEL]["modeling.py"] = b"raise SystemExit('ran')"
    assert f"{file} of model tiny/bert at {COMMIT} asks for remote code" in model.fails()
    assert not [r for r in hub.requests if ".safetensors" in r or ".py" in r]


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("config.json", b"[", "not a JSON object"),
        ("tokenizer.json", b"{}", "not a tokenizer"),
        ("model.safetensors", b"\x80\x04pickle", "not a whole safetensors file"),
    ],
)
def test_a_file_that_is_not_what_its_name_says_is_refused(hub, model, file, content, message):
    hub.files[MODEL][file] = content
    line = model.fails()
    assert f"{file} of model tiny/bert at {COMMIT}: {message}" in line


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"model_type": "birt"}, "architecture 'birt' is not known to transformers"),
        ({"model_type": "mamba"}, "MambaModel returned attention weights for 0 of 2 layers"),
        ({"model_type": "vit"}, "ViTModel reads pixel_values; the probe needs a model that reads"),
    ],
)
def test_a_model_that_cannot_be_probed_is_refused_before_the_weights_come(
    hub, model, fields, message
):
    config = json.loads(hub.files[MODEL]["config.json"])
    hub.files[MODEL]["config.json"] = json.dumps(config | fields).encode()
    line = model.fails()
    assert f"model tiny/bert at {COMMIT}: {message}" in line
    assert hub.downloads == 1


def test_weights_that_are_missing_are_refused_before_anything_is_probed(hub, model, tmp_path):
    weights = safetensors.torch.load(hub.files[MODEL]["model.safetensors"])
    del weights["encoder.layer.0.attention.self.key.bias"]
    hub.files[MODEL]["model.safetensors"] = safetensors.torch.save(weights, {"format": "pt"})
    line = model.fails()
    assert f"model tiny/bert at {COMMIT}: 1 weights are missing (encoder.layer.0" in line


def test_no_network_is_said_in_one_line_without_the_password_of_a_mirror(model, monkeypatch):
    # Port 9 (discard) has no listener.
    monkeypatch.setenv("HF_ENDPOINT", "http://reader:swordfish@127.0.0.1:9")
    line = model.fails()
    assert "could not download config.json of model tiny/bert" in line
    assert "from http://127.0.0.1:9: " in line
    assert "swordfish" not in line + model.log.read_text()


def test_a_hub_that_must_not_be_asked_is_not_asked(hub, model, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert f"is not in HF_HOME, and HF_HUB_OFFLINE forbids to ask {hub.url}" in model.fails()
    assert hub.requests == []


def test_a_hub_that_must_not_be_asked_is_not_needed_for_a_file_that_it_does_not_have(
    hub, model, monkeypatch
):
    del hub.files[MODEL]["tokenizer_config.json"]  # as of BART
    assert model.run().returncode == 0
    for path in model.folder.iterdir():
        path.unlink()
    hub.requests.clear()
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    again = model.run()
    assert again.returncode == 0, again.stderr
    assert sorted(path.name for path in model.folder.iterdir()) == FILES
    assert hub.requests == []


# Corpora.


@pytest.fixture
def dataset(model: SimpleNamespace, fetch: Callable, tmp_path: Path) -> SimpleNamespace:
    """Two configurations of a dataset on the hub, and the command that fetches a split of one."""
    out = tmp_path / "out"
    settings = {
        "dataset": "tiny/corpus",
        "config": "20231101.en",
        "revision": COMMIT,
        "format": "parquet",
    }

    def run():
        return fetch(
            "fetch_dataset",
            *("--rows", out / "rows.arrow", "--files", out / "files.json"),
            *("--settings", json.dumps({"part": settings})),
        )

    def texts() -> list[str]:
        run_ = run()
        assert run_.returncode == 0, run_.stderr
        return list(read_column([out / "rows.arrow"], "text"))

    def fails() -> str:
        line = error_line(run())
        assert list(out.glob("*")) == []
        return line

    def files() -> list[dict]:
        return json.loads((out / "files.json").read_text())

    return SimpleNamespace(run=run, texts=texts, fails=fails, files=files, settings=settings)


def test_a_split_arrives_in_order_alone_and_with_the_sums_of_its_files(hub, dataset):
    hub.busy = hub.cut = 1
    assert dataset.texts() == ENGLISH
    assert dataset.files() == [
        {"file": name, "sha256": sha256(hub.files[CORPUS][name]), "start": "0", "end": "1"}
        for name in SHARDS
    ]
    asked = {r.partition("/resolve/")[2] for r in hub.requests if "/resolve/" in r}
    assert asked == {f"{COMMIT}/{name}" for name in ("README.md", *SHARDS)}
    hub.requests.clear()
    dataset.texts()
    assert {r for r in hub.requests if "/resolve/" in r} == set()  # it is kept in HF_HOME


def test_another_split_or_fewer_files_may_be_named(hub, dataset):
    dataset.settings["files"] = ["*-00001-of-*"]
    assert dataset.texts() == ENGLISH[2:]
    dataset.settings |= {"config": "wikitext", "split": "test", "files": []}
    assert dataset.texts() == ["line"]


def test_parts_have_each_row_once(hub, dataset):
    found = []
    for part in range(5):
        dataset.settings |= {"part": part, "parts": 5}
        found += dataset.texts()
    assert found == ENGLISH


def test_a_dataset_without_a_card_has_the_splits_that_its_names_say(hub, dataset):
    hub.files[CORPUS] = {"data/train.jsonl": b'{"text": "a"}\n', "data/test.jsonl": b"{}"}
    dataset.settings |= {"config": None, "format": "json"}
    assert dataset.texts() == ["a"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"dataset": "tiny/corpse"}, "dataset tiny/corpse is not on "),
        ({"revision": "b" * 40}, f"dataset tiny/corpus has no commit {'b' * 40}"),
        ({"config": "20231101.eng"}, "no config '20231101.eng' (did you mean '20231101.en'?); it"),
        ({"config": None}, "give its config; it has 20231101.en, wikitext"),
        ({"split": "tran"}, "no split 'tran' (did you mean 'train'?) in config 20231101.en; it"),
        ({"files": ["*.json"]}, "no file of split train fits *.json; it has 20231101.en/train-00"),
        ({"sums": {SHARDS[0]: "0" * 64}}, f"{SHARDS[0]} of dataset tiny/corpus at {COMMIT}: exp"),
        ({"format": "csv"}, "train-00000-of-00002.parquet: not UTF-8 at byte "),
    ],
)
def test_a_dataset_that_cannot_be_had_is_refused_in_one_line(dataset, settings, message):
    dataset.settings |= settings
    assert message in dataset.fails()


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("README.md", CARD.replace("20231101.en/train-*", "https://x.org/a"), "names files outsi"),
        ("README.md", CARD.replace("20231101.en/train-*", "/etc/passw*"), "cannot tell its files"),
        ("README.md", "---\nconfigs: [\n---\n", "cannot tell its files"),
        ("../evil", "", "a file's path leads out of it: ../evil"),
        ("x" * 300, "", "no file can be named 'xxx"),
        ("wikitext/train-0.parquet/b", "", "no file can be named 'wikitext/train-0.parquet/b'"),
        ("a\0b", "", r"no file can be named 'a\x00b'"),
        (SHARDS[1], "PAR1 cut off", "train-00001-of-00002.parquet: not a whole parquet file"),
    ],
)
def test_a_repository_that_cannot_be_trusted_is_refused(hub, dataset, file, content, message):
    hub.files[CORPUS][file] = content.encode()
    assert message in dataset.fails()


def test_files_with_other_columns_are_refused(hub, dataset):
    hub.files[CORPUS][SHARDS[1]] = parquet(text=["x"], topic=["y"])
    assert "files differ in their columns" in dataset.fails()


def test_a_script_of_a_dataset_is_never_asked_for(hub, dataset, tmp_path):
    hub.files[CORPUS]["corpus.py"] = f"open({str(tmp_path / 'ran')!r}, 'w')".encode()
    assert dataset.texts() == ENGLISH
    assert not [r for r in hub.requests if "corpus.py" in r]
    assert not (tmp_path / "ran").exists()


def test_a_large_file_that_always_breaks_off_is_given_up(hub, dataset):
    # The client starts over as long as every answer brings one of its pieces of 10 MB.
    hub.files[CORPUS][SHARDS[0]] = bytes(24 << 20)
    del hub.files[CORPUS]["README.md"]
    dataset.settings["config"] = None
    hub.cut, hub.ranges = -1, False
    line = dataset.fails()
    assert f"could not download {SHARDS[0]} of dataset tiny/corpus" in line
    assert "the answer breaks off, again and again" in line


# Folders on this machine.


def copy_model(folder: Path, target: Path):
    return run_step(
        ROOT,
        "copy_local_model",
        *("--model", *(target / name for name in FILES)),
        *("--settings", json.dumps({"local": {"path": str(folder)}})),
    )


def test_a_folder_is_taken_as_it_is(checkpoint, tmp_path):
    run = copy_model(checkpoint, tmp_path / "out")
    assert run.returncode == 0, run.stderr
    for name in FILES:
        assert (tmp_path / "out" / name).read_bytes() == (checkpoint / name).read_bytes()


def test_a_folder_that_asks_for_remote_code_is_refused(tmp_path):
    folder = save_tiny_bert(tmp_path / "model")
    edit_config(folder, auto_map={"AutoModel": "modeling.Trap"})
    line = error_line(copy_model(folder, tmp_path / "out"))
    assert f"config.json of folder {folder} asks for remote code" in line


def test_a_folder_that_is_not_there_is_named(tmp_path):
    line = error_line(copy_model(tmp_path / "nowhere", tmp_path / "out"))
    assert f"folder {tmp_path / 'nowhere'} does not exist" in line


def test_a_step_that_downloads_nothing_asks_no_hub(hub, tmp_path, monkeypatch):
    become_a_client(hub, tmp_path / "home", monkeypatch)
    program = (
        "import sys; sys.argv = ['probe'];"
        "import huggingface_hub.constants; from onelayer.run.step import run;"
        "from onelayer.settings.block import Block;"
        "run(lambda step: huggingface_hub.HfApi().model_info('tiny/bert'), settings=Block)"
    )
    run = subprocess.run(
        [sys.executable, "-c", program],
        env=clean_environment(PYTHONPATH=str(ROOT / "src")),
        capture_output=True,
        text=True,
        check=False,
    )
    assert "offline mode is enabled" in run.stderr
    assert hub.requests == []
