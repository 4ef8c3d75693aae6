"""A small project of two steps with a run, and a stranger's hand on its archive."""

import io
import json
import stat
import subprocess
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import requests.adapters
import urllib3
from requests_cache import CachedSession

from onelayer.evidence.tables import VALUE_COLUMNS
from onelayer.report.crate.archive import seal
from onelayer.run.provenance import code_digest, file_sha256
from onelayer.settings.kept import keep_settings

CONTEXT = Path(__file__).with_name("context-1.1.jsonld")
TABLE = "results/tables/scan_snap/claims.csv"
PUBLISHED = "workflow/reference/published.csv"
ROWS = ",".join(["paper", *VALUE_COLUMNS]) + "\na,x,1" + "," * (len(VALUE_COLUMNS) - 2) + "\n"
SNAKEFILE = """
rule table:
    output: "results/tables/scan_snap/claims.csv"
    shell: "mkdir -p results/tables/scan_snap && cp {workflow.basedir}/table.csv {output}"
"""


def git(root: Path, *words: str, **environment: str) -> str:
    author = ("-c", "user.name=tester", "-c", "user.email=tester@example.org")
    run = subprocess.run(
        ["git", *author, *words], cwd=root, check=True, capture_output=True, text=True,
        env={"PATH": "/usr/bin:/bin", **environment},
    )  # fmt: skip
    return run.stdout.strip()


def checkout(root: Path) -> Path:
    """A repository of two steps, with a link and an executable file."""
    files = {
        "Snakefile": SNAKEFILE,
        "table.csv": ROWS,
        "scripts/fit.py": "import onelayer.maths\n",
        "scripts/make_table.py": "import onelayer.maths\n",
        "src/onelayer/__init__.py": '"""A package."""\n',
        "src/onelayer/maths.py": "ONE = 1\n",
        PUBLISHED: 'value,source\n1,"Tian et al. (2023), Figure 6"\n',
        "run me.sh": "#!/bin/sh\n",
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    (root / "run me.sh").chmod(0o755)
    (root / "link").symlink_to("scripts")
    (root / ".gitignore").write_text("runs\n")
    git(root, "init", "--quiet")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "A project")
    return root


def record(root: Path, step: str, inputs: list[str], outputs: list[str], **more: object) -> None:
    """What a step writes about itself; files are named from the working directory."""
    said = {"step": step, "settings": {"threads": 1}, "code": code_digest(step, root)}
    said |= {"libraries": "python 3.11, numpy 2.4.6", "device": "cpu", "portable": True}
    said |= {"switches": {"MKL_CBWR": "COMPATIBLE", "CUDA_VISIBLE_DEVICES": ""}}
    said |= {"started": "2026-11-01T10:00:00+00:00", "ended": "2026-11-01T10:00:05+00:00"}
    said |= {name: {p: file_sha256(Path(p)) for p in paths} for name, paths in
             (("inputs", inputs), ("outputs", outputs))}  # fmt: skip
    place = Path("results/records", f"{len(list(Path('results/records').glob('*')))}.json")
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(json.dumps(said | more))


def write(path: str, text: str | bytes) -> str:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def make_run(root: Path) -> Path:
    """A run in `runs/mine` of the checkout, which becomes the working directory's run."""
    keep_settings(SETTINGS, Path("results"))
    write("results/corpus/articles/source", "text of the corpus")
    record(root, "fit", [], ["results/corpus/articles/source"])
    write("results/topics/a b/lda.npz", b"\0topics")
    record(root, "fit", ["results/corpus/articles/source"], ["results/topics/a b/lda.npz"])
    write(TABLE, ROWS)
    read = ["results/topics/a b/lda.npz", f"../../{PUBLISHED}"]
    record(root, "make_table", read, [TABLE], settings={"note": "<script>`rm -rf /`</script>"})
    return Path("results")


SETTINGS = {
    "corpora": {
        "articles": {
            "source": {"package": "wiki", "version": "1.0", "member": "x", "sha256": "0" * 64},
            "credit": "Lead sections & more",
            "authors": ["Wikipedia contributors", "Doe, J. {x}"],
            "licences": ["CC-BY-SA-4.0"],
        },
        "unused": {"source": {"paths": ["x"]}, "credit": "Mine"},
    },
    "models": {"random": {"source": "random", "like": "x"}},
}


def rezip(source: Path, target: Path, change: Callable[[dict[str, bytes]], Mapping]) -> Path:
    """An archive whose files somebody changed; values are contents, or (ZipInfo, content)."""
    with zipfile.ZipFile(source) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in change(files).items():
            archive.writestr(*(content if isinstance(content, tuple) else (entry(name), content)))
        archive.comment = bytes(64)
    seal(target)
    return target


def entry(name: str, mode: int = stat.S_IFREG | 0o644) -> zipfile.ZipInfo:
    """A name in a zip, with a file's kind, and else as `onelayer pack` writes it."""
    found = zipfile.ZipInfo("placeholder")
    found.filename, found.external_attr = name, mode << 16
    found.compress_type, found.create_system = zipfile.ZIP_DEFLATED, 3
    return found


class _Kept(requests.adapters.HTTPAdapter):
    def send(self, request, **_):
        raw = urllib3.HTTPResponse(
            io.BytesIO(CONTEXT.read_bytes()),
            {"Content-Type": "application/ld+json"},
            200,
            preload_content=False,
            request_url=request.url,
        )
        return self.build_response(request, raw)


def cache_of_context(place: Path) -> Path:
    """What the validator keeps of the web, filled from a file: it asks nobody."""
    session = CachedSession(str(place))
    session.mount("https://", _Kept())
    session.get("https://w3id.org/ro/crate/1.1/context")
    session.close()
    return place
