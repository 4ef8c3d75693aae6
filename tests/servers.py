"""A package index and a hub on the loopback: what real clients ask for, and what goes wrong."""

import contextlib
import hashlib
import json
import threading
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

import huggingface_hub.constants
import pytest

PACKAGE, VERSION, WHEEL = "tiny-corpus", "1.0", "tiny_corpus-1.0-py3-none-any.whl"
COMMIT = hashlib.sha1(b"a commit", usedforsecurity=False).hexdigest()
TOKEN = "hf_swordfish"  # noqa: S105
Answer = tuple[int, bytes, dict[str, str]]


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@contextlib.contextmanager
def serve(server: "Index | Hub") -> Iterator[None]:
    """Answer requests on a free port while the block runs."""

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            wanted = self.headers.get("Range"), self.headers.get("Authorization")
            status, body, headers = server.answer(self.command, urlsplit(self.path).path, *wanted)
            self.send_response(status)
            for name, value in ({"Content-Length": str(len(body))} | headers).items():
                self.send_header(name, value)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body[: int(headers.get("X-Cut", len(body)))])

        def log_message(self, *_: object) -> None:
            """Stay silent."""

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.url = f"http://127.0.0.1:{http.server_port}"
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield
    finally:
        http.shutdown()
        thread.join()
        http.server_close()


def build_wheel(members: Mapping[str, bytes], path: Path) -> bytes:
    """A wheel with these members, as a build tool would write it."""
    info = f"tiny_corpus-{VERSION}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {PACKAGE}\nVersion: {VERSION}\n"
    wheel = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files = {**members, f"{info}/METADATA": metadata.encode(), f"{info}/WHEEL": wheel.encode()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
        archive.writestr(f"{info}/RECORD", "".join(f"{name},,\n" for name in files))
    return path.read_bytes()


@dataclass
class Index:
    """A package index (PEP 503) with one wheel, and what it should do wrong."""

    url: str = ""
    wheel: bytes | None = None  # None: it knows no such package
    advertised: str | None = None  # SHA-256 that its page names; None: none
    unavailable: int = 0  # how many requests for the wheel it answers with 503 first

    def answer(self, method: str, path: str, *_: object) -> Answer:
        if self.wheel is None:
            return 404, b"", {}
        if path == f"/simple/{PACKAGE}/":
            fragment = f"#sha256={self.advertised}" if self.advertised else ""
            page = f'<!DOCTYPE html><a href="/files/{WHEEL}{fragment}">{WHEEL}</a>'
            return 200, page.encode(), {"Content-Type": "text/html"}
        if self.unavailable:
            self.unavailable -= 1
            return 503, b"", {}
        return 200, self.wheel, {"Content-Type": "application/zip"}


def _refuse(status: int, code: str) -> Answer:
    return status, json.dumps({"error": code}).encode(), {"X-Error-Code": code}


@dataclass
class Hub:
    """Repositories of one commit each, and what the server should do wrong."""

    url: str = ""
    files: dict[str, dict[str, bytes]] = field(default_factory=dict)  # by models/OWNER/NAME, path
    gated: set[str] = field(default_factory=set)  # only for the bearer of TOKEN
    busy: int = 0  # how many downloads it answers with 503 first
    cut: int = 0  # how many downloads it breaks off half-way
    requests: list[str] = field(default_factory=list)

    def answer(self, method: str, path: str, span: str | None, token: str | None) -> Answer:
        self.requests.append(f"{method} {path}")
        parts = unquote(path).strip("/").split("/")
        listing = parts[0] == "api"
        parts = parts[1:] if listing else parts
        parts = parts if parts[0] in ("models", "datasets") else ["models", *parts]
        if len(parts) < 5:
            return _refuse(404, "EntryNotFound")
        repository, (verb, commit), rest = "/".join(parts[:3]), parts[3:5], "/".join(parts[5:])
        if repository not in self.files:
            return _refuse(404 if token else 401, "RepoNotFound")
        if repository in self.gated and token != f"Bearer {TOKEN}":
            return _refuse(403 if token else 401, "GatedRepo")
        if commit != COMMIT:
            return _refuse(404, "RevisionNotFound")
        files = self.files[repository]
        if listing and verb == "revision":
            siblings = [{"rfilename": name} for name in sorted(files)]
            return (
                200,
                json.dumps({"id": parts[1], "sha": COMMIT, "siblings": siblings}).encode(),
                {},
            )
        if listing:
            tree = [
                {"type": "file", "path": p, "size": len(c), "oid": "0" * 40}
                for p, c in files.items()
            ]
            return 200, json.dumps(sorted(tree, key=lambda file: file["path"])).encode(), {}
        if rest not in files:
            return _refuse(404, "EntryNotFound")
        return self._file(files[rest], method, span)

    def _file(self, body: bytes, method: str, span: str | None) -> Answer:
        headers = {"ETag": f'"{sha256(body)}"', "X-Repo-Commit": COMMIT}
        if method == "GET" and self.busy:
            self.busy -= 1
            return 503, b"busy", headers
        status = 200
        if span:
            status, body = 206, body[int(span.removeprefix("bytes=").rstrip("-")) :]
        if method == "GET" and self.cut:
            self.cut -= 1
            headers["X-Cut"] = str(len(body) // 2)
        return status, body, headers


def become_a_client(hub: Hub, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Be a user who knows this hub and no other, has no token and has downloaded nothing yet."""
    constants = huggingface_hub.constants
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setattr(constants, "ENDPOINT", hub.url)
    template = "{}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template.format(hub.url))
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(home / "hub"))
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(home / "token"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(huggingface_hub.HfApi, "__init__", _api_of(hub))


def _api_of(hub: Hub):
    initialise = huggingface_hub.HfApi.__init__
    return lambda self, *args, **kwargs: initialise(self, *args, **{"endpoint": hub.url} | kwargs)
