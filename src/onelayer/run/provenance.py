"""What decides a step's numbers besides its inputs and settings: its code and its libraries.

Snakemake sees neither the modules that a script imports nor a library that was upgraded. Rules
therefore have a digest of the script's code closure and the library versions among their
parameters.
"""

import ast
import functools
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import re
import sys
import types
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from onelayer.checkout import REPOSITORY

PACKAGE = "onelayer"


class Source(NamedTuple):
    """What a Python file says about itself."""

    docstring: str | None
    bare: bool  # it holds nothing but its docstring
    # Dotted names, from anywhere in it: of `from a.b import c` `a.b` and `a.b.c`, perhaps a module.
    imports: frozenset[str]


_IMPORT = re.compile(r"\bimport\b")
_DEFINITION = re.compile(r"^(?:@|def |class )", re.MULTILINE)


@functools.cache
def read_source(path: Path) -> Source:
    """Parse a Python file, once, as far as it is read here."""
    text = path.read_text(encoding="utf-8")
    # Every import has the word; what follows the last one is most of most files. Where a string or
    # a statement goes on beyond the cut, what stands before the cut is no Python.
    last = max((match.end() for match in _IMPORT.finditer(text)), default=0)
    following = _DEFINITION.search(text, last)
    try:
        module = ast.parse(text[: following.start()] if following else text)
    except SyntaxError:
        module, following = ast.parse(text, filename=str(path)), None
    docstring = ast.get_docstring(module)
    bare = not following and len(module.body) == (docstring is not None)
    return Source(docstring, bare, frozenset(_imported(module.body)))


def _imported(statements: Iterable[ast.AST]) -> Iterator[str]:
    for node in statements:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.module and node.level == 0:
                yield node.module
                yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif not isinstance(node, ast.If) or ast.unparse(node.test) != "TYPE_CHECKING":
            # An import stands in no expression: most of the tree is left alone.
            for block in ("body", "orelse", "finalbody", "handlers", "cases"):
                yield from _imported(getattr(node, block, ()))


@functools.cache
def module_files(name: str, root: Path = REPOSITORY) -> tuple[Path, ...]:
    """Files that importing `onelayer.a.b` executes: every package `__init__` and the module.

    Those that hold nothing but a docstring, such as the pages of papers, are left out: no number
    depends on them. So is `onelayer/__init__.py`, which finds public functions for users; steps
    import modules.
    """
    place, files = f"{root}/src/{PACKAGE}", []
    for part in name.split(".")[1:]:
        place = f"{place}/{part}"
        if (file := _module_file(place)) and not read_source(file).bare:
            files.append(file)
    return tuple(files)


@functools.cache
def _module_file(place: str) -> Path | None:
    """The package's or the module's file at a path without suffix, if there is one."""
    candidates = (Path(place, "__init__.py"), Path(f"{place}.py"))
    return next((path for path in candidates if path.is_file()), None)


@functools.cache
def _own_imports(path: Path, root: Path) -> frozenset[Path]:
    """Files of this package that a file's imports execute."""
    imported = (name for name in read_source(path).imports if name.split(".")[0] == PACKAGE)
    return frozenset(file for name in imported for file in module_files(name, root))


@functools.cache
def _foreign_imports(place: str) -> frozenset[str]:
    """Top-level names of third-party modules that a file of this checkout imports."""
    names = {name.split(".")[0] for name in read_source(REPOSITORY / place).imports}
    return frozenset(names - set(sys.stdlib_module_names) - {PACKAGE})


@functools.cache
def code_closure(step: str, root: Path = REPOSITORY) -> tuple[str, ...]:
    """The script of a step and every `onelayer` module it imports, directly or not.

    Args:
        step: name of the script, and `:module.function` where it calls a declared function.
        root: of another checkout.

    Returns:
        Paths relative to the root, sorted.

    Raises:
        FileNotFoundError: there is no such script.
    """
    name, _, function = step.partition(":")
    waiting = [root / "scripts" / f"{name}.py", *module_files(function.rpartition(".")[0], root)]
    seen: set[Path] = set()
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        waiting.extend(_own_imports(path, root))
    return tuple(sorted(_place(path, root) for path in seen))


@functools.cache
def _place(path: Path, root: Path) -> str:
    return str(path.relative_to(root))


@functools.cache
def _version(module: str) -> str | None:
    """Name and version of the distribution that a module belongs to, if it is installed."""
    if importlib.util.find_spec(module) is None:
        return None
    try:
        held = importlib.metadata.distribution(module)
    except importlib.metadata.PackageNotFoundError:  # of another name, as scikit-learn is
        held = next((d for d in importlib.metadata.distributions() if _holds(d, module)), None)
    return held and f"{held.name.lower()} {held.version}"


def _holds(distribution: importlib.metadata.Distribution, module: str) -> bool:
    """Whether a distribution installed a module; `packages_distributions` parses every record."""
    declared = (distribution.read_text("top_level.txt") or "").split()
    record = distribution.read_text("RECORD") or ""
    return module in declared or f"\n{module}/__init__.py," in record


@functools.cache
def library_versions(step: str) -> str:
    """Versions of Python and of the libraries that a step's code closure imports.

    Returns:
        One line, `python 3.11, numpy 2.4.6, torch 2.13.0`, for `params:`; the local tag of a
        build (`+cpu`) is kept, because another build is other software.
    """
    modules = {module for place in code_closure(step) for module in _foreign_imports(place)}
    versions = sorted(version for version in map(_version, modules) if version)
    return ", ".join([f"python {sys.version_info.major}.{sys.version_info.minor}", *versions])


def file_sha256(path: Path) -> str:
    """SHA-256 of a file's bytes, in hexadecimal."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@functools.cache  # most files are in most closures
def _hashed(place: str, root: Path) -> bytes:
    return f"{place}\0{file_sha256(root / place)}\n".encode()


def code_digest(step: str, root: Path = REPOSITORY) -> str:
    """One SHA-256 over the paths and contents of a step's code closure.

    Among `params:` of the rule, a file that was only touched reruns nothing, an edited one reruns
    just the steps that import it.
    """
    digest = hashlib.sha256()
    for path in code_closure(step, root):
        digest.update(_hashed(path, root))
    return digest.hexdigest()


def settings_json(*blocks: object, **values: object) -> str:
    """Settings as ONE JSON string with sorted keys, the form in which they travel to a step.

    The fields of blocks are merged at the top level with the values, in which a block is an object.
    Snakemake compares parameters as an unordered set of values; one string keeps names and
    values together, so that swapping two settings is seen.
    """
    merged: dict[str, object] = {}
    for block in blocks:
        merged |= block.model_dump(mode="json")
    merged |= values
    text = json.dumps(merged, sort_keys=True, default=lambda block: block.model_dump(mode="json"))
    # Snakemake's report puts it between <script> and </script> as it is.
    return text.replace("<", "\\u003c")


def script(step: str, *blocks: object, purpose: str = "", **values: object) -> dict[str, object]:
    """What decides a step beside its input files, as named values for `params:` of its rule.

    Args:
        step: as `code_closure` takes it.
        purpose: what it does, where the script's docstring does not say it.
        *blocks, **values: settings as `settings_json` takes them; where one depends on the
            wildcards of a job, a function of them.

    Returns:
        `script`, its path from the working directory, and the `message` that is shown while it
        runs; the `function` that it calls, its `settings`, `code` (`code_digest`) and `libraries`,
        of which a change of any reruns the step.
    """

    def for_job(wildcards: Sequence[str]) -> str:
        def chosen(value: object) -> object:
            return value(wildcards) if isinstance(value, types.FunctionType) else value

        named = {name: chosen(value) for name, value in values.items()}
        return settings_json(*map(chosen, blocks), **named)

    name, _, function = step.partition(":")
    file = REPOSITORY / "scripts" / f"{name}.py"
    place, said = os.path.relpath(file), purpose or read_source(file).docstring
    purpose = said.splitlines()[0].rstrip(".")
    return {
        # What is made of outputs Snakemake does not remember: results that are copied elsewhere are
        # not made again because the way to the script is another.
        "script": lambda wildcards, output: place,
        "function": f" {function}" if function else "",
        # A function, also where no job differs: in a plain text Snakemake takes braces, which a
        # credit may have, for wildcards.
        "settings": for_job,
        "code": code_digest(step),
        "libraries": library_versions(step),
        "message": lambda wildcards: " ".join([purpose, *(f"[{value}]" for value in wildcards)]),
    }


def states(files: Iterable[str]) -> str:
    """Size and time of change of files that are no step's outputs, those that are there.

    Among `params:` of a rule, another file at the same path is seen whatever its date; Snakemake
    itself sees newer ones alone.
    """
    stats = [path.stat() for path in map(Path, files) if path.exists()]
    return " ".join(f"{file.st_size}:{file.st_mtime_ns}" for file in stats)


def sums(paths: Iterable[Path]) -> dict[str, str]:
    """SHA-256 of each file, by path."""
    return {str(path): file_sha256(path) for path in paths}
