"""What the fault tests share: a package index on the loopback, and steps run without waiting."""

import hashlib
import re
import subprocess
import threading
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.conftest import ROOT, run_script
from tests.steps import forking


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out, and say so, what `make test` has no time for."""
    if "faults" not in config.option.markexpr:
        for item in items:
            if item.get_closest_marker("faults"):
                item.add_marker(pytest.mark.skip(reason="takes minutes: make test-faults"))


PACKAGE, VERSION = "tiny-corpus", "1.0"
WHEEL = "tiny_corpus-1.0-py3-none-any.whl"


def build_wheel(
    path: Path, members: Mapping[str, bytes], compression: int = zipfile.ZIP_DEFLATED
) -> bytes:
    """Write a wheel with these members, as a build tool would, and return its bytes."""
    info = f"tiny_corpus-{VERSION}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {PACKAGE}\nVersion: {VERSION}\n"
    wheel = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files = {**members, f"{info}/METADATA": metadata.encode(), f"{info}/WHEEL": wheel.encode()}
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
        archive.writestr(f"{info}/RECORD", "".join(f"{name},,\n" for name in files))
    return path.read_bytes()


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@dataclass
class Index:
    """A PEP 503 package index with one wheel, and what it should do wrong.

    Attributes:
        url: where pip finds it.
        wheel: the body that it serves; None: it knows no such package.
        advertised: SHA-256 that the page names for the wheel; None: it names none.
        length: Content-Length of the wheel; None: that of the body.
        unavailable: how many requests for the wheel it answers with 503 first.
        requests: paths asked for so far.
    """

    url: str
    wheel: bytes | None = None
    advertised: str | None = None
    length: int | None = None
    unavailable: int = 0
    requests: list[str] = field(default_factory=list)

    def answer(self, path: str) -> tuple[int, bytes, int]:
        """Status, body and Content-Length for a path."""
        self.requests.append(path)
        if self.wheel is None:
            return 404, b"", 0
        if path == f"/simple/{PACKAGE}/":
            fragment = f"#sha256={self.advertised}" if self.advertised else ""
            page = f'<!DOCTYPE html><a href="/files/{WHEEL}{fragment}">{WHEEL}</a>'.encode()
            return 200, page, len(page)
        if self.unavailable:
            self.unavailable -= 1
            return 503, b"", 0
        return 200, self.wheel, self.length or len(self.wheel)


def _handler(index: Index) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body, length = index.answer(self.path)
            self.send_response(status)
            self.send_header("Content-Type", "text/html" if "simple" in self.path else "app/zip")
            self.send_header("Content-Length", str(length))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Stay silent."""

    return Handler


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
    """A package index on the loopback, the only one that pip knows; pip itself never retries."""
    index = Index("")
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(index))
    index.url = f"http://127.0.0.1:{server.server_port}/simple"
    for name in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL", "PIP_NO_INDEX"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("PIP_RESUME_RETRIES", "0")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("PIP_INDEX_URL", index.url)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield index
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def fetch(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess]:
    """Run a fetching step by hand as the README shows, but without pauses between attempts."""

    def run(step: str, *arguments: object) -> subprocess.CompletedProcess:
        script = ("tests/faults/unpaused.py", f"scripts/{step}.py")
        return run_script(forking(), *script, *arguments, folder=ROOT, TMPDIR=str(tmp_path))

    return run


@pytest.fixture
def little(monkeypatch: pytest.MonkeyPatch) -> None:
    """So little may a file unpack to in any case that no test needs a large one."""
    monkeypatch.setattr("onelayer.fetching.unpacking.ALWAYS_TAKEN", 1 << 16)


def error_line(run: subprocess.CompletedProcess) -> str:
    """The one line in which a step that failed says why; no traceback beside it."""
    assert run.returncode == 1, run.stderr
    assert "Traceback" not in run.stdout + run.stderr
    errors = re.findall(r"^ERROR .*$", run.stderr, re.MULTILINE)
    assert len(errors) == 1, run.stderr
    others = [line for line in run.stderr.splitlines() if not re.match(r"ERROR |WARNING ", line)]
    assert not others, run.stderr
    return errors[0]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of one mebibyte."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    mount = subprocess.run(command, capture_output=True, text=True, check=False)
    if mount.returncode:
        pytest.skip(f"mounting a small tmpfs is not permitted here: {mount.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


_TIMES = re.compile(rb'"(started|ended|startTime|endTime|datePublished)": "[^"]*"')


def results(project: Path) -> dict[str, bytes]:
    """Content of every result by path, but for when and how long steps ran and what they logged."""
    folder = project / "results"
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {
        str(name): _TIMES.sub(b"", path.read_bytes())
        for path in files
        if (name := path.relative_to(folder)).parts[0] not in ("benchmarks", "logs")
        and name != Path("records/write_crate.json")  # it has the sum of a file with times
    }


def parts(project: Path) -> list[Path]:
    """What half-written files are called."""
    return list((project / "results").rglob(".part-*"))
