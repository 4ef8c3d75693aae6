"""What every pipeline step shares: command line, log, settings, threads, atomic outputs, record.

A step is a small command-line program, `scripts/<step>.py`. It runs under Snakemake and by hand
alike: `python scripts/init_random_model.py --like IN --models OUT --settings '{"seeds": [0]}'`.
"""

import argparse
import contextlib
import errno
import functools
import gc
import glob
import hashlib
import importlib
import inspect
import json
import logging
import os
import shutil
import signal
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pydantic
from threadpoolctl import threadpool_limits

from onelayer.errors import OnelayerError
from onelayer.run import portable
from onelayer.run.liveness import count_as_alive, end_with_the_run
from onelayer.run.progress import log as progress_log
from onelayer.run.progress import watched
from onelayer.run.provenance import REPOSITORY, code_digest, library_versions, sums
from onelayer.settings.block import Block, check_plain, describe, shown

if TYPE_CHECKING:
    import pandas as pd

log = logging.getLogger("onelayer")


@dataclass
class Step:
    """One run of a step: where to read, where to write, and how.

    Under each input's name `inputs` has a file, a list of files, a folder or a list of folders;
    `outputs` the same for outputs: files are written there first and renamed into place only when
    the whole step has succeeded. Of a folder only the files that were asked for stay.
    """

    name: str  # the script's, without `.py`
    settings: Block
    inputs: types.SimpleNamespace
    outputs: types.SimpleNamespace
    files: tuple[Path, ...] = ()  # every input file, those of folders too
    device: str = "cpu"  # what the step computed on; a step that resolves `auto` sets it
    job: str = ""  # the name, and the rule's wildcards where the log is named by them
    portable: bool = False  # whether its libraries take the kernels of a portable run

    def progress(self, items: Iterable, *, total: int | None = None, unit: str = "it") -> Iterator:
        """Iterate with a bar where stderr is a terminal; a line a minute in the log."""
        return watched(items, self.job or self.name, total, unit)

    def checkpoint(self, output: Path) -> Path:
        """Where a long computation keeps its state: beside an output, where a rerun finds it.

        Several computations in a row have files of their own, whose names go on with `-` and more.
        Whoever writes them compares `identity` before going on from them. They are gone when every
        output is in place.
        """
        return output.with_name(f".part-checkpoint-{output.name.removeprefix('.part-')}")

    def read(self, name: str) -> "pd.DataFrame | list[pd.DataFrame]":
        """The table that the input of a name holds as Parquet; of several files a list."""
        # An import that runs would make pandas a library of steps that read no table, too.
        read_parquet = importlib.import_module("pandas").read_parquet
        place = getattr(self.inputs, name)
        return list(map(read_parquet, place)) if isinstance(place, list) else read_parquet(place)

    def write(self, **contents: "str | pd.DataFrame") -> None:
        """Write texts, and tables as Parquet without index, each to its named output."""
        for name, content in contents.items():
            place = getattr(self.outputs, name)
            if isinstance(content, str):
                place.write_text(content, encoding="utf-8")
            else:
                content.to_parquet(place, index=False, compression="zstd")

    @functools.cached_property
    def decided_by(self) -> dict[str, str | dict[str, str]]:
        """Code, libraries and inputs as they are when this is first asked for."""
        return {
            "code": code_digest(self.name),
            "libraries": library_versions(self.name),
            "inputs": sums(self.files),
        }

    def identity(self) -> str:
        """A digest of all that decides the outputs: settings, code, libraries, device, inputs."""
        decided_by = [
            self.settings.model_dump(mode="json"),
            self.decided_by["code"],
            self.decided_by["libraries"],
            self.device,
            list(self.decided_by["inputs"].values()),
            self.portable,
        ]
        return hashlib.sha256(json.dumps(decided_by, sort_keys=True).encode()).hexdigest()


def settings_of(
    function: Callable, others: Iterable[str] = ("step",), base: type[Block] = Block
) -> type[Block]:
    """The settings that a function's annotated parameters ask for, on top of a block of others.

    Parameters with a default are not asked for, and `others` are no settings.
    """
    typed = inspect.get_annotations(function, eval_str=True)
    names = [
        name
        for name, parameter in inspect.signature(function).parameters.items()
        if name not in others and parameter.default is parameter.empty
    ]
    return pydantic.create_model("Settings", __base__=base, **{n: (typed[n], ...) for n in names})


def program(inputs: str = "", outputs: str = "", **options: Any) -> Callable[[Callable], Callable]:
    """Declare a script's `main`, which `run` runs where the script is the program.

    All is as `run` takes it; names of inputs and outputs stand apart by spaces.
    """

    def started(main: Callable[..., None]) -> Callable[..., None]:
        if main.__module__ == "__main__":
            run(main, inputs=inputs.split(), outputs=outputs.split(), inherits=True, **options)
        return main

    return started


def run(
    main: Callable[..., None],
    settings: type[Block] = Block,
    inputs: Sequence[str] = (),
    outputs: Sequence[str] = (),
    downloads: bool = False,
    name: str = "",
    inherits: bool = False,
) -> None:
    """Run a step from the command line and exit: 0 when every output is in place, else 1.

    Args:
        main: reads `step.inputs`, writes `step.outputs`; its parameters beside `step` are the
            settings.
        settings: a block of others, `step.settings` has both. A setting `threads` bounds the
            threads of BLAS, OpenMP and torch.
        inputs: names of inputs: `articles` is one file, `counts*` any number of files, `model/` a
            folder, given as such or by the files in it that the step reads, `models/*` any number
            of folders, in the order in which their files are given.
        outputs: names of outputs in the same way; a folder is given by the files that are wanted.
        downloads: whether the step may ask a model hub for anything.
        name: the step's, where it is not the script's.
        inherits: whether `threads` may be those of its first block that has some; a table or figure
            may be told of a block that computed what it shows.
    """
    name = name or Path(sys.argv[0]).stem
    settings = settings_of(main, base=settings)
    asked = [name for name in inspect.signature(main).parameters if name in settings.model_fields]
    arguments = _parser(inputs, outputs).parse_args()
    started = datetime.now(UTC)
    count_as_alive()
    _start_log(arguments.log)
    if not downloads:
        _stay_offline()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    end_with_the_run()
    targets = {key: getattr(arguments, _key(key)) for key in outputs}
    wanted = [path for paths in targets.values() for path in paths]
    record = [arguments.record] if arguments.record else []
    with _ending_in_one_line(name, wanted):
        if arguments.portable:
            portable.start()
        block = _parse_settings(settings, arguments.settings)
        given = {key: getattr(arguments, _key(key)) for key in inputs}
        _check_inputs(given)
        files = tuple(path for paths in given.values() for path in _files(paths))
        sources = {_key(key): _value(key, paths) for key, paths in given.items()}
        with atomic_outputs([*wanted, *record]) as parts:
            part_of = dict(zip(wanted, parts, strict=False))
            with _places(targets, part_of) as written:
                places = types.SimpleNamespace(**sources), types.SimpleNamespace(**written)
                job = _job(name, arguments.log)
                step = Step(name, block, *places, files, job=job, portable=arguments.portable)
                if record:
                    _ = step.decided_by  # now: what is edited while the step runs decides nothing
                with threadpool_limits(limits=_use_threads(block, inherits)):
                    main(step, **{setting: getattr(block, setting) for setting in asked})
            if step.portable:
                portable.finish()
            if record:
                _write_record(parts[-1], step, part_of, started, arguments.log)
        for path in map(step.checkpoint, wanted):
            for state in (path, *path.parent.glob(f"{glob.escape(path.name)}-*")):
                state.unlink(missing_ok=True)


@contextlib.contextmanager
def _ending_in_one_line(name: str, outputs: Iterable[Path]) -> Iterator[None]:
    """End the process where a step fails, with a traceback only where nobody foresaw it."""
    try:
        yield
    except OnelayerError as error:
        log.error("%s: %s", name, error)
        sys.exit(1)
    except Exception as error:
        if _is_disk_full(error):
            places = ", ".join(sorted({str(path.parent) for path in outputs}))
            log.error("%s: no space left on device while writing to %s", name, places)
        else:
            log.exception("%s failed: %s: %s", name, type(error).__name__, error)
        sys.exit(1)
    finally:
        # Python searches all that was imported for garbage once more before it ends: a tenth of a
        # second after pandas, a whole one after transformers.
        gc.freeze()


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
        os.umask(mask := os.umask(0))
        for part in parts:
            part.chmod(0o666 & ~mask)  # safetensors lets the owner alone read what it writes
            with open(part, "rb+") as file:
                os.fsync(file.fileno())
        for part, path in zip(parts, paths, strict=True):
            part.replace(path)
    finally:
        for part in parts:
            part.unlink(missing_ok=True)


@contextlib.contextmanager
def scratch_folder(path: Path) -> Iterator[Path]:
    """An empty folder beside a file, gone after the block.

    Its name is always the same, so that what a `kill -9` left in it goes with the next run.
    """
    folder = path.with_name(f".part-scratch-{path.name}")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _places(
    targets: Mapping[str, Sequence[Path]], part_of: Mapping[Path, Path]
) -> Iterator[dict[str, Path | list[Path]]]:
    """Where a step writes each output; out of a folder the files that were asked for are taken."""
    with contextlib.ExitStack() as stack:
        written, kept = {}, {}
        for name, paths in targets.items():
            if "/" not in name:
                written[_key(name)] = _value(name, [part_of[path] for path in paths])
                continue
            folders = {}
            for path in paths:
                if path.parent not in folders:
                    folders[path.parent] = stack.enter_context(scratch_folder(path))
                kept[path] = folders[path.parent] / path.name
            places = list(folders.values())
            written[_key(name)] = places if name.endswith("*") else places[0]
        yield written
        for path, made in kept.items():
            made.replace(part_of[path])


def _key(name: str) -> str:
    return name.rstrip("*/")


def _flag(name: str) -> str:
    return f"--{_key(name).replace('_', '-')}"


def _value(name: str, paths: list[Path]) -> Path | list[Path]:
    """What a step gets for the files given under a name."""
    if name.endswith("/*"):
        return list(dict.fromkeys(_folder([path]) for path in paths))
    if name.endswith("*"):
        return paths
    return _folder(paths) if name.endswith("/") else paths[0]


def _folder(paths: Sequence[Path]) -> Path:
    """The one folder of files, or the folder itself."""
    return paths[0] if paths[0].is_dir() else paths[0].parent


def _files(paths: Iterable[Path]) -> Iterator[Path]:
    """The files; of a folder that was given as such all but hidden ones."""
    for path in paths:
        yield from sorted(path.glob("[!.]*")) if path.is_dir() else [path]


def _parser(inputs: Iterable[str], outputs: Iterable[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=sys.modules["__main__"].__doc__, allow_abbrev=False
    )
    of_kinds = {"*": ("*", "{} files"), "/": ("+", "{}: files of one folder")}
    for names, what in ((inputs, "input"), (outputs, "output")):
        for name in names:
            nargs, help_text = of_kinds.get(name[-1], (1, "{}"))
            parser.add_argument(
                _flag(name),
                type=Path,
                nargs=nargs,
                default=[],
                required=nargs != "*",
                help=help_text.format(what),
            )
    parser.add_argument("--settings", default="{}", help="settings, one JSON object")
    parser.add_argument("--log", type=Path, help="also write the log to this file")
    parser.add_argument(
        "--portable",
        action="store_true",
        help="refuse to start without the switches of a portable run",
    )
    parser.add_argument("--record", type=Path, help="write what decided the outputs to this JSON")
    return parser


def _job(step: str, log_file: Path | None) -> str:
    """`fit_lda vital-articles` for a log `.../fit_lda/vital-articles.log`."""
    _, _, wildcards = str(log_file or "").removesuffix(".log").partition(f"/{step}/")
    return f"{step} {wildcards}".rstrip()


def _start_log(path: Path | None) -> None:
    handlers: list[logging.Handler] = [logging.StreamHandler()]
    if sys.stderr.isatty():
        handlers[0].addFilter(lambda record: record.name != progress_log.name)
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
        check_plain(values)
        return block.model_validate(values)
    except json.JSONDecodeError as error:
        raise OnelayerError(f"--settings: not JSON: {error}; found {shown(text)}") from None
    except pydantic.ValidationError as error:
        problem = describe(error.errors()[0], values)
        raise OnelayerError(f"--settings: {problem}") from None
    except (ValueError, RecursionError) as error:
        raise OnelayerError(f"--settings: {error}; found {shown(text)}") from None


def _check_inputs(given: Mapping[str, Sequence[Path]]) -> None:
    for name, paths in given.items():
        for path in paths:
            if not path.exists():
                raise OnelayerError(f"{_flag(name)}: {path} does not exist")
        folders = {_folder([path]) for path in paths}
        if name.endswith("/") and len(folders) > 1:
            names = ", ".join(sorted(map(str, folders)))
            raise OnelayerError(f"{_flag(name)}: files of one folder are needed, found {names}")


def _use_threads(block: pydantic.BaseModel, inherits: bool) -> int:
    """Bound torch's threads by the settings and return the bound for BLAS and OpenMP.

    The count decides the order of floating-point sums, so it comes from the settings and never
    from the number of cores at hand.
    """
    inside = [value for _, value in block if isinstance(value, Block)] if inherits else []
    blocks = [block, *inside]
    threads = next((one.threads for one in blocks if hasattr(one, "threads")), 1)
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


def _warned(log_file: Path | None) -> list[str]:
    """What the step has warned of; the folders of this machine are left out."""
    text = log_file.read_text(encoding="utf-8", errors="replace") if log_file else ""
    home = os.environ.get("HOME", "~")
    return [
        line.replace(f"{REPOSITORY}/", "./").replace(f"{home}/", "~/")
        for line in text.splitlines()
        if line.startswith("WARNING ")
    ]


def _write_record(
    place: Path, step: Step, part_of: Mapping[Path, Path], started: datetime, log_file: Path | None
) -> None:
    digests = sums(part_of.values())
    record = {
        "step": step.name,
        "settings": step.settings.model_dump(mode="json"),
        "device": step.device,
        "portable": step.portable,
        "switches": {name: os.environ[name] for name in portable.SWITCHES if name in os.environ},
        "started": started.isoformat(timespec="seconds"),
        "ended": datetime.now(UTC).isoformat(timespec="seconds"),
        "outputs": {str(path): digests[str(part)] for path, part in part_of.items()},
        "warnings": _warned(log_file),
    } | step.decided_by
    place.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n", encoding="utf-8")
