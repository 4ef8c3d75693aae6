"""Scripts of the project run by hand, each in a process that has the slow imports behind it.

A script spends most of its time importing torch and transformers. Here they are imported once, by
a server from which every process of a script is forked; it has arguments, environment, folder and
descriptors of its own, and the modules of the project. What Python reads from the environment when
it starts (hash seed, encoding) takes a new interpreter: `tests.conftest.run_step`.
"""

import functools
import importlib
import multiprocessing
import os
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from multiprocessing.context import ForkServerContext
from pathlib import Path

IMPORTED = ["gensim.models", "pandas", "pyarrow.dataset", "torch", "transformers.modeling_utils"]
SECONDS = 300


def run_script(
    script: Path | str,
    *arguments: object,
    folder: Path,
    environment: Mapping[str, str],
    first: Callable[[], None] | None = None,
) -> subprocess.CompletedProcess:
    """Run a script to its end; what it writes comes back as text.

    Args:
        script: its file, from `folder` on.
        folder: where it runs.
        environment: all of it.
        first: called before the script, such as to take a pause out of the library.
    """
    with tempfile.TemporaryDirectory() as written:
        streams = [Path(written) / name for name in ("stdout", "stderr")]
        words = [str(script), *map(str, arguments)]
        process = _server().Process(
            target=_run, args=(words, folder, dict(environment), streams, first)
        )
        process.start()
        process.join(SECONDS)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise subprocess.TimeoutExpired(words, SECONDS)
        texts = [stream.read_text(encoding="utf-8") for stream in streams]
        return subprocess.CompletedProcess(words, process.exitcode, *texts)


@functools.cache
def _server() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(IMPORTED)
    return context


def _run(
    words: list[str],
    folder: Path,
    environment: dict[str, str],
    streams: list[Path],
    first: Callable[[], None] | None,
) -> None:
    """A script and its arguments as `python script arguments` runs them, in this process."""
    for descriptor, stream in enumerate(streams, start=1):
        os.dup2(os.open(stream, os.O_WRONLY | os.O_CREAT), descriptor)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    tempfile.tempdir = None  # found again, by TMPDIR
    if constants := sys.modules.get("huggingface_hub.constants"):
        importlib.reload(constants)  # it has read the environment of the server
    sys.path[:0] = [str(Path(words[0]).resolve().parent), environment.get("PYTHONPATH", "")]
    sys.argv = words
    if first:
        first()
    runpy.run_path(words[0], run_name="__main__")
