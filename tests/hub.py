"""A Hugging Face hub on the loopback: what the real client asks for, and what goes wrong there."""

import contextlib
import hashlib
import json
import os
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

COMMIT = hashlib.sha1(b"a commit", usedforsecurity=False).hexdigest()
TOKEN = "hf_swordfish"  # noqa: S105
Answer = tuple[int, bytes, dict[str, str]]


def git_sha1(content: bytes) -> str:
    """The name under which git keeps a file's content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def _refuse(status: int, code: str) -> Answer:
    return status, json.dumps({"error": code}).encode(), {"X-Error-Code": code}


@dataclass
class Hub:
    """Repositories of one commit each, and what the server should do wrong.

    Attributes:
        url: where clients find it.
        files: content by path, under `models/OWNER/NAME` or `datasets/OWNER/NAME`.
        gated: repositories that only the bearer of `TOKEN` may read.
        busy: how many downloads it answers with 503 first.
        cut: how many downloads it breaks off half-way; a negative number: all.
        ranges: whether it continues where a download broke off.
        altered: how many downloads have one byte changed.
        requests: method and path of every request so far.
        tokens: what the requests were signed with.
    """

    url: str = ""
    files: dict[str, dict[str, bytes]] = field(default_factory=dict)
    gated: set[str] = field(default_factory=set)
    busy: int = 0
    cut: int = 0
    ranges: bool = True
    altered: int = 0
    requests: list[str] = field(default_factory=list)
    tokens: set[str] = field(default_factory=set)

    def add(self, repository: str, folder: Path | Mapping[str, bytes]) -> None:
        """Put a folder's files, or contents by path, into a repository."""
        if isinstance(folder, Path):
            paths = [path for path in folder.rglob("*") if path.is_file()]
            folder = {str(path.relative_to(folder)): path.read_bytes() for path in paths}
        self.files[repository] = dict(folder)

    @property
    def downloads(self) -> int:
        """How many files were asked for, without questions about them."""
        return sum(r.startswith("GET") and "/resolve/" in r for r in self.requests)

    def answer(self, method: str, path: str, token: str | None) -> Answer:
        """Status, body and headers."""
        self.requests.append(f"{method} {path}")
        if token:
            self.tokens.add(token)
        parts = unquote(path).strip("/").split("/")
        listing = parts[0] == "api"
        parts = parts[1:] if listing else parts
        if parts[0] not in ("models", "datasets"):
            parts = ["models", *parts]
        if listing and parts[3:4] == ["revision"] and "/".join(parts[:3]) in self.files:
            parts = [*parts[:3], "revision", COMMIT if parts[4] == "main" else parts[4]]
        if len(parts) < 5:
            return 404, b"{}", {}
        repository, (verb, commit), rest = "/".join(parts[:3]), parts[3:5], "/".join(parts[5:])
        if repository not in self.files:
            return _refuse(404 if token else 401, "RepoNotFound")
        if repository in self.gated and token != f"Bearer {TOKEN}":
            return _refuse(403 if token else 401, "GatedRepo")
        if commit != COMMIT:
            return _refuse(404, "RevisionNotFound")
        files = self.files[repository]
        if listing and verb == "tree":
            tree = [
                {"type": "file", "path": name, "size": len(content), "oid": git_sha1(content)}
                for name, content in sorted(files.items())
            ]
            return 200, json.dumps(tree).encode(), {}
        if listing and verb == "revision":
            siblings = [self._sibling(name, content) for name, content in sorted(files.items())]
            return (
                200,
                json.dumps({"id": parts[1], "sha": COMMIT, "siblings": siblings}).encode(),
                {},
            )
        if rest not in files:
            return _refuse(404, "EntryNotFound")
        return 200, files[rest], {"ETag": f'"{self._etag(rest, files[rest])}"'}

    def _sibling(self, name: str, content: bytes) -> dict:
        """What the hub says of a file; of a large one its SHA-256."""
        said = {"rfilename": name, "size": len(content), "blobId": git_sha1(content)}
        if len(digest := self._etag(name, content)) == 64:
            said["lfs"] = {"sha256": digest, "size": len(content), "pointerSize": 134}
        return said

    @staticmethod
    def _etag(name: str, content: bytes) -> str:
        large = name.endswith((".safetensors", ".parquet", ".bin"))
        return hashlib.sha256(content).hexdigest() if large else git_sha1(content)


def _handler(hub: Hub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            path = urlsplit(self.path).path
            status, body, headers = hub.answer(
                self.command, path, self.headers.get("Authorization")
            )
            sent = body
            if status == 200 and self.command == "GET" and "/resolve/" in path:
                status, body, sent = self._spoil(body)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("X-Repo-Commit", COMMIT)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(sent)
            self.close_connection = self.close_connection or sent is not body

        def _spoil(self, body: bytes) -> tuple[int, bytes, bytes]:
            """Status, what is announced and what is sent of a file."""
            if hub.busy:
                hub.busy -= 1
                return 503, b"busy", b"busy"
            status, wanted = 200, self.headers.get("Range")
            if wanted and hub.ranges:
                status, body = 206, body[int(wanted.removeprefix("bytes=").rstrip("-")) :]
            if hub.altered:
                hub.altered -= 1
                body = bytes([body[0] ^ 1]) + body[1:]
            if hub.cut:
                hub.cut -= 1
                return status, body, body[: len(body) // 2]
            return status, body, body

        def log_message(self, *_: object) -> None:
            """Stay silent."""

    return Handler


@contextlib.contextmanager
def serve(hub: Hub) -> Iterator[Hub]:
    """Answer requests on a free port while the block runs."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(hub))
    hub.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def become_a_client(hub: Hub, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Be a user who knows this hub and no other, has no token and has downloaded nothing yet."""
    for name in os.environ:
        if name.startswith(("HF_", "HUGGING")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HF_ENDPOINT", hub.url)
    monkeypatch.setenv("HF_HOME", str(home))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
