"""What decides a step beside its inputs and settings: its code, its libraries, its kernels.

Snakemake sees a script that changed, never a module that it imports: with `code("script")` among a
rule's params an edited module, directly imported or not, reruns the step; a touched one does not.
"""

import functools
import hashlib
import re
from importlib.metadata import version
from pathlib import Path

SRC = Path(__file__).parents[1]
SCRIPTS = SRC.parent / "scripts"
# Libraries whose versions can change a number.
LIBRARIES = "numpy scipy pandas pyarrow scikit-learn torch transformers tokenizers gensim tomotopy"
_IMPORT = re.compile(
    r"^\s*(?:from\s+(onelayer[\w.]*)\s+import\s+(\([^)]*\)|.*)|import\s+(onelayer[\w.]*))", re.M
)


@functools.cache
def imported(path: Path) -> frozenset[Path]:
    """Files of this package that a file's imports execute, but for `onelayer/__init__.py`."""
    files = set()
    for package, names, module in _IMPORT.findall(path.read_text(encoding="utf-8")):
        for name in {package or module, *(f"{package}.{n}" for n in re.findall(r"\w+", names))}:
            parts = name.split(".")
            for depth in range(2, len(parts) + 1):
                place = SRC.joinpath(*parts[:depth])
                # A style lies beside the module that reads it.
                files |= {place / "__init__.py", *map(place.with_suffix, (".py", ".mplstyle"))}
    return frozenset(file for file in files if file.is_file())


def closure(script: str) -> list[Path]:
    """A script and every module of this package that it imports, directly or not."""
    seen, waiting = set(), {SCRIPTS / f"{script}.py"}
    while waiting:
        path = waiting.pop()
        seen.add(path)
        waiting |= imported(path) - seen
    return sorted(seen)


@functools.cache
def _hashed(path: Path) -> bytes:
    return f"{path.relative_to(SRC.parent)} ".encode() + hashlib.sha256(path.read_bytes()).digest()


_libraries = functools.cache(lambda: ", ".join(f"{n} {version(n)}" for n in LIBRARIES.split()))


def code(script: str, portable: bool = False) -> str:
    """Digest of a script's code, and the versions of libraries, as one value for `params`."""
    digest = hashlib.sha256(b"".join(map(_hashed, closure(script)))).hexdigest()
    return f"{digest[:16]}, {_libraries()}{', portable' if portable else ''}"
