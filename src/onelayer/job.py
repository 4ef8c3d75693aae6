"""What every script shares: log, threads, progress, resuming, outputs that appear all at once.

    with job(snakemake) as step:
        step.save(solved=solve(Theorem1(**step.settings), progress=step.progress))

A step that fails leaves no output. What a user can mend (`OnelayerError`) is one line.
"""

import contextlib
import ctypes
import functools
import hashlib
import importlib
import io
import json
import logging
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from threadpoolctl import threadpool_limits
from tqdm import tqdm

from onelayer import portable
from onelayer.errors import OnelayerError

log = logging.getLogger("onelayer")


def silent(items: Iterable, **_: object) -> Iterable:
    """Progress that nobody sees."""
    return items


class Step:
    """The settings, inputs and outputs of one run of a rule."""

    def __init__(self, snakemake) -> None:
        self.snakemake = snakemake
        self.settings = dict(snakemake.params.get("settings") or {})
        self.name = " ".join([snakemake.rule, *map(str, snakemake.wildcards)])
        first = Path(snakemake.output[0])
        self.state = first.with_name(f".state-{first.name}")  # of a training that is not done
        self.parts: dict[Path, Path] = {}  # what is written -> where it belongs
        self.scratch: list[Path] = []

    def given(self, param: str) -> io.StringIO:
        """A file of the repository that the rule hands over as text, by `repository_file`."""
        return io.StringIO(self.snakemake.params[param].replace("<\\/", "</"))

    def paths(self, output: str) -> list[Path]:
        """Where to write the files of an output; they are moved into place when the step ends."""
        files = self.snakemake.output[output]
        places = map(Path, [files] if isinstance(files, str) else files)
        parts = {place.with_name(f".part-{place.name}"): place for place in places}
        self.parts |= parts
        return list(parts)

    def path(self, output: str) -> Path:
        """Where to write an output of one file."""
        return self.paths(output)[0]

    def folder(self, output: str) -> Path:
        """A folder to write to, from which the files of this output are taken at the end."""
        files = [Path(file) for file in self.snakemake.output[output]]
        folder = files[0].with_name(f".part-{output}-{files[0].name}")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        self.scratch.append(folder)
        self.parts |= {folder / file.name: file for file in files}
        return folder

    def save(self, **frames) -> None:
        """Write DataFrames to Parquet, by the names of outputs."""
        for output, frame in frames.items():
            frame.to_parquet(self.path(output), index=False)

    def save_text(self, **texts: str) -> None:
        """Write texts, by the names of outputs."""
        for output, text in texts.items():
            self.path(output).write_text(text, encoding="utf-8")

    # Modules by their names: in the digest of a step (`onelayer.code`) that does not use them they
    # have no place. Scripts that show or train import them themselves.
    def save_table(self, rows, output: str = "table", **shown) -> None:
        """Write a table as CSV, Markdown and LaTeX; see `onelayer.evidence.tables.write`."""
        tables = importlib.import_module("onelayer.evidence.tables")
        tables.write(rows, *self.paths(output), **shown)

    def save_figure(self, figure, output: str = "figure") -> None:
        """Write a figure as PDF and PNG; see `onelayer.evidence.figures.save`."""
        importlib.import_module("onelayer.evidence.figures").save(figure, *self.paths(output))

    @functools.cached_property
    def device(self) -> str:
        """`cpu` or `cuda`, as the settings' `device` says; `auto` takes a GPU if there is one."""
        execution = importlib.import_module("onelayer.ensemble.execution")
        return execution.resolve_device(self.settings.get("device", "cpu"))

    @functools.cached_property
    def execution(self):
        """How a long training runs; it goes on if settings, code, inputs, device are the same."""
        execution = importlib.import_module("onelayer.ensemble.execution")
        digest = hashlib.sha256(json.dumps(self.settings, sort_keys=True).encode())
        digest.update(f"{self.snakemake.params.get('code')} {self.device}".encode())
        for file in self.snakemake.input:
            with open(file, "rb") as opened:
                digest.update(hashlib.file_digest(opened, "sha256").digest())
        state = execution.Checkpoint(self.state, digest.hexdigest())
        return execution.Execution(self.device, state, self.progress)

    def progress(self, items, total: int | None = None, unit: str = "it") -> Iterator:
        """Iterate: with a bar on a terminal, with a line a minute in the log."""
        last_line = time.monotonic()
        total = len(items) if total is None and hasattr(items, "__len__") else total
        for done, item in enumerate(tqdm(items, self.name, total, leave=False, disable=None)):
            if time.monotonic() - last_line >= 60:
                last_line = time.monotonic()
                of_total = f" of {total:,}" if total else ""
                log.info("%s: %s%s %s", self.name, f"{done:,}", of_total, unit)
            yield item

    def publish(self) -> None:
        """Move everything into its place."""
        for part in self.parts:
            with open(part, "rb+") as file:
                os.fsync(file.fileno())
        os.umask(mask := os.umask(0))
        for part, place in self.parts.items():
            part.chmod(0o666 & ~mask)  # safetensors lets the owner alone read what it writes
            part.replace(place)
        for state in self.state.parent.glob(f"{self.state.name}*"):
            state.unlink()


@contextlib.contextmanager
def job(snakemake) -> Iterator[Step]:
    """Run the body of a script; afterwards every output is in place, or none."""
    handlers = [logging.StreamHandler(), *(logging.FileHandler(f, "w") for f in snakemake.log[:1])]
    form = "%(levelname)s %(message)s"
    logging.basicConfig(level=logging.WARNING, format=form, handlers=handlers, force=True)
    log.setLevel(logging.INFO)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # a step ends with the Snakemake that started it
    step = Step(snakemake)
    try:
        if not snakemake.params.get("downloads"):  # the hub's clients ask for nothing
            os.environ["HF_HUB_OFFLINE"] = "1"
            if constants := sys.modules.get("huggingface_hub.constants"):
                constants.HF_HUB_OFFLINE = True
        if snakemake.config.get("portable"):
            portable.start()
        with threadpool_limits(threads := step.settings.get("threads", 1)):
            if torch := sys.modules.get("torch"):
                torch.set_num_threads(threads)  # the count decides the order of sums
            yield step
        if snakemake.config.get("portable"):
            portable.finish()
        step.publish()
    except OnelayerError as error:
        log.error("%s: %s", step.name, error)
        sys.exit(1)
    except Exception:
        log.exception("%s failed", step.name)
        sys.exit(1)
    finally:
        for part in step.parts:
            part.unlink(missing_ok=True)
        for folder in step.scratch:
            shutil.rmtree(folder, ignore_errors=True)
