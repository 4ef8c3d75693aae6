"""What every pipeline step shares: command line, log, settings, threads, atomic outputs, record.

A step is a small command-line program, `scripts/<step>.py`. It runs under Snakemake and by hand
alike: `python scripts/fit_lda.py --counts IN --topics OUT --settings '{"topics": 50}'`.
"""

import argparse
import contextlib
import errno
import hashlib
import json
import logging
import os
import shutil
import signal
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pydantic
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from onelayer.errors import OnelayerError
from onelayer.liveness import count_as_alive
from onelayer.provenance import code_digest, library_versions, sums
from onelayer.settings.block import describe

log = logging.getLogger("onelayer")


@dataclass
class Step:
    """One run of a step: where to read, where to write, and how.

    Attributes:
        name: the script's name without `.py`.
        settings: the validated settings block.
        inputs: one `Path`, or a list of them, under each input's name.
        outputs: one `Path` under each output's name; files are written there first and renamed
            into place only when the whole step has succeeded.
        device: what the step computed on; a step that resolves `auto` sets it.
    """

    name: str
    settings: Any
    inputs: types.SimpleNamespace
    outputs: types.SimpleNamespace
    device: str = "cpu"

    def progress(self, items: Iterable, *, total: int | None = None, unit: str = "it") -> Iterator:
        """Iterate with a progress bar on stderr (silent where stderr is no terminal)."""
        return tqdm(items, desc=self.name, total=total, unit=unit, disable=None, leave=False)

    def checkpoint(self, output: Path) -> Path:
        """Where a long computation keeps its state: beside an output, where a rerun finds it.

        Whoever writes it removes it when done, and compares `identity` before going on from it.
        """
        return output.with_name(f".part-checkpoint-{output.name.removeprefix('.part-')}")

    def identity(self) -> str:
        """A digest of all that decides the outputs: settings, code, libraries, device, inputs."""
        decided_by = [
            self.settings.model_dump(mode="json"),
            code_digest(self.name),
            library_versions(self.name),
            self.device,
            list(sums(_files(vars(self.inputs))).values()),
        ]
        return hashlib.sha256(json.dumps(decided_by, sort_keys=True).encode()).hexdigest()


def run(
    main: Callable[[Step], None],
    settings: type[pydantic.BaseModel],
    inputs: Iterable[str] = (),
    outputs: Iterable[str] = (),
    downloads: bool = False,
) -> None:
    """Run a step from the command line and exit: 0 when every output is in place, else 1.

    Args:
        main: reads `step.inputs`, writes `step.outputs`.
        settings: the block that `--settings` must fit; its field `threads`, where it has one,
            bounds the threads of BLAS, OpenMP and torch.
        inputs: names of input files; a name ending in `*` takes any number.
        outputs: names of output files.
        downloads: whether the step may ask a model hub for anything.
    """
    inputs, outputs = tuple(inputs), tuple(outputs)
    name = Path(sys.argv[0]).stem
    arguments = _parser(main, inputs, outputs).parse_args()
    count_as_alive()
    _start_log(arguments.log)
    if not downloads:
        _stay_offline()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    targets = {key: Path(getattr(arguments, key)) for key in outputs}
    record = Path(arguments.record) if arguments.record else None
    try:
        block = _parse_settings(settings, arguments.settings)
        sources = {key.rstrip("*"): getattr(arguments, key.rstrip("*")) for key in inputs}
        _check_inputs(sources)
        with atomic_outputs([*targets.values(), *([record] if record else [])]) as parts:
            written = dict(zip(targets, parts, strict=False))
            step = Step(
                name, block, types.SimpleNamespace(**sources), types.SimpleNamespace(**written)
            )
            with threadpool_limits(limits=_use_threads(block)):
                main(step)
            if record:
                _write_record(parts[-1], step, sources, targets)
    except OnelayerError as error:
        log.error("%s: %s", name, error)
        sys.exit(1)
    except Exception as error:
        if _is_disk_full(error):
            places = ", ".join(str(path.parent) for path in targets.values())
            log.error("%s: no space left on device while writing to %s", name, places)
        else:
            log.exception("%s failed: %s: %s", name, type(error).__name__, error)
        sys.exit(1)


@contextlib.contextmanager
def atomic_outputs(paths: Iterable[Path]) -> Iterator[list[Path]]:
    """Yield a temporary path beside each path; rename all into place if the block succeeds.

    Nothing is left behind when the block raises. After a power cut or `kill -9` at most a
    hidden `.part-*` file stays, which the next run overwrites.
    """
    paths = list(paths)
    parts = [path.with_name(f".part-{path.name}") for path in paths]
    try:
        for path in paths:
            path.parent.mkdir(parents=True, exist_ok=True)
        yield parts
        for part in parts:
            with open(part, "rb+") as file:
                os.fsync(file.fileno())
        for part, path in zip(parts, paths, strict=True):
            part.replace(path)
    finally:
        for part in parts:
            part.unlink(missing_ok=True)


@contextlib.contextmanager
def scratch_folder(beside: Path) -> Iterator[Path]:
    """An empty folder beside a file, gone after the block.

    Its name is always the same, so that what a `kill -9` left in it goes with the next run.
    """
    folder = beside.with_name(f".part-scratch-{beside.name}")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _parser(
    main: Callable, inputs: Iterable[str], outputs: Iterable[str]
) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=sys.modules[main.__module__].__doc__)
    for name in inputs:
        many = {"nargs": "*", "type": Path, "default": []} if name.endswith("*") else {"type": Path}
        key = name.rstrip("*")
        parser.add_argument(
            f"--{key.replace('_', '-')}", required=not name.endswith("*"), help="input", **many
        )
    for name in outputs:
        parser.add_argument(f"--{name.replace('_', '-')}", required=True, help="output")
    parser.add_argument("--settings", default="{}", help="settings, one JSON object")
    parser.add_argument("--log", type=Path, help="also write the log to this file")
    parser.add_argument("--record", help="write what decided the outputs to this JSON file")
    return parser


def _start_log(path: Path | None) -> None:
    handlers: list[logging.Handler] = [logging.StreamHandler()]
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
        handlers.append(logging.FileHandler(path, mode="w", encoding="utf-8"))
    logging.basicConfig(
        level=logging.WARNING, format="%(levelname)s %(message)s", handlers=handlers
    )
    log.setLevel(logging.INFO)


def _stay_offline() -> None:
    """Keep the Hugging Face clients from asking a hub for anything."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    # They read the variable when they are imported, and scripts import first of all.
    if constants := sys.modules.get("huggingface_hub.constants"):
        constants.HF_HUB_OFFLINE = True


def _parse_settings(block: type[pydantic.BaseModel], text: str) -> pydantic.BaseModel:
    try:
        values = json.loads(text)
        return block.model_validate(values)
    except json.JSONDecodeError as error:
        raise OnelayerError(f"--settings: not JSON: {error}; found {text!r}") from None
    except pydantic.ValidationError as error:
        problem = describe(error.errors()[0], values)
        raise OnelayerError(f"--settings: {problem}") from None


def _check_inputs(sources: dict[str, Path | list[Path]]) -> None:
    for name, value in sources.items():
        for path in value if isinstance(value, list) else [value]:
            if not path.exists():
                raise OnelayerError(f"--{name.replace('_', '-')}: {path} does not exist")


def _use_threads(block: pydantic.BaseModel) -> int:
    """Bound torch's threads by the settings and return the bound for BLAS and OpenMP.

    The count decides the order of floating-point sums, so it comes from the settings and never
    from the number of cores at hand.
    """
    threads = getattr(block, "threads", 1)
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(threads)
    return threads


def _is_disk_full(error: BaseException | None) -> bool:
    while error:
        # Arrow and safetensors wrap the system's error in types of their own.
        if getattr(error, "errno", None) == errno.ENOSPC or "No space left" in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False


def _files(sources: dict[str, Path | list[Path]]) -> Iterator[Path]:
    """Input files; an input that is a folder (a model checkpoint) stands for the files in it."""
    for value in sources.values():
        for path in value if isinstance(value, list) else [value]:
            yield from sorted(path.glob("[!.]*")) if path.is_dir() else [path]


def _write_record(part: Path, step: Step, sources: dict, targets: dict[str, Path]) -> None:
    written = sums(vars(step.outputs).values())
    record = {
        "step": step.name,
        "settings": step.settings.model_dump(mode="json"),
        "code": code_digest(step.name),
        "libraries": library_versions(step.name),
        "device": step.device,
        "inputs": sums(_files(sources)),
        "outputs": dict(zip(map(str, targets.values()), written.values(), strict=True)),
    }
    part.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n", encoding="utf-8")
