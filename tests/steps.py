"""A `python` for Snakemake and scripts of the project that has the slow imports behind it.

A script spends most of its time importing torch and transformers, a dry-run a third of it importing
Snakemake. Here a server imports them once; a `python` in an environment of its own has it fork a
process for each, which has the arguments, environment, folder and descriptors of its caller, and
the modules of the project, and ends when its caller is killed. Anything else goes to the real
Python. What Python reads from the environment when it starts (hash seed, encoding) takes a new
interpreter, and so does whatever is to be killed or timed: `tests.conftest` chooses.
"""

import atexit
import contextlib
import functools
import gc
import importlib
import io
import json
import os
import runpy
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

IMPORTED = (
    *("gensim.models", "matplotlib.backends.backend_pdf", "pandas", "pyarrow.dataset", "seaborn"),
    *("torch", "transformers.modeling_utils"),
    *("snakemake.cli", "snakemake.executors.local", "snakemake.report.html_reporter"),
    *("snakemake_executor_plugin_slurm", "yte.process"),
)
CALLER = """#!{python} -IS
import json, os, socket, sys
words = sys.argv[1:]
name = os.path.basename(words[0]) if words else ""
if name != "-m" and not (name.endswith(".py") and name not in {anew!r}):
    os.execv({python!r}, [{python!r}, *words])
server = socket.socket(socket.AF_UNIX)
server.connect({address!r})
call = json.dumps([words, os.getcwd(), dict(os.environ)]).encode()
socket.send_fds(server, [len(call).to_bytes(8, "big")], [0, 1, 2])
server.sendall(call)
status = server.recv(4)
sys.exit(int.from_bytes(status, "big") if status else 1)
"""
ANEW = ["measure_claims_again.py"]  # tells libraries what processor this is before they are loaded
SECONDS = 600  # until the server answers, on a machine with much else to do


def read_yaml_fast() -> None:
    """Have YAML read by libyaml, where it is: in Python it takes Snakemake a tenth of a dry-run."""
    yaml = importlib.import_module("yaml")
    for name in ("SafeLoader", "FullLoader"):
        setattr(yaml, name, getattr(yaml, f"C{name}", getattr(yaml, name)))


@functools.cache
def forking() -> Path:
    """A `python`, with a `snakemake` beside it, whose server ends with this process."""
    folder = Path(tempfile.mkdtemp(prefix="python-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    address = folder / "server"
    environment = {k: v for k, v in os.environ.items() if not k.endswith("_NUM_THREADS")}
    server = subprocess.Popen(
        [sys.executable, __file__, address],
        env=environment,
        stdin=subprocess.PIPE,
        start_new_session=True,
    )
    atexit.register(server.stdin.close)
    python = folder / "python"
    caller = CALLER.format(python=sys.executable, address=str(address), anew=ANEW)
    command = f'#!/bin/sh\nexec {python} -m snakemake "$@"\n'
    for file, text in ((python, caller), (folder / "snakemake", command)):
        file.write_text(text, encoding="utf-8")
        file.chmod(0o755)
    deadline = time.monotonic() + SECONDS
    while not address.exists():
        assert server.poll() is None and time.monotonic() < deadline, "the server did not start"
        time.sleep(0.05)
    return python


def serve(address: str) -> None:
    """Fork a process for every caller until stdin ends."""
    for module in IMPORTED:
        importlib.import_module(module)
    sys.modules["torch"].set_num_threads(1)  # steps choose, others have a core
    read_yaml_fast()
    sys.modules["pandas"].DataFrame([1]).to_latex()  # the first table compiles the templates
    drawn = sys.modules["matplotlib.figure"].Figure()
    drawn.suptitle("$x$")  # the first formula makes the grammar of formulas
    for form in ("pdf", "png"):
        drawn.savefig(io.BytesIO(), format=form)
    gc.collect()
    gc.freeze()  # looking for garbage would copy every page into every process
    sys.executable = str(Path(address).parent / "python")  # by which Snakemake finds it, too
    callers: dict[int, tuple[int, socket.socket]] = {}  # by what tells that a process has ended
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{address}-starts")
        listener.listen(64)
        Path(f"{address}-starts").rename(address)
        while True:
            open_ones = [caller for _, caller in callers.values()]
            ready = select.select([listener, sys.stdin, *callers, *open_ones], [], [])[0]
            if sys.stdin in ready:
                for process, _ in callers.values():
                    os.kill(process, signal.SIGTERM)
                return
            for ended, (process, caller) in list(callers.items()):
                if ended in ready:
                    _tell(caller, process)
                    os.close(ended)
                    del callers[ended]
                elif caller in ready:  # it was killed
                    os.kill(process, signal.SIGTERM)
            if listener in ready:
                caller, _ = listener.accept()
                process = _fork(caller, [listener, *open_ones])
                callers[os.pidfd_open(process)] = process, caller


def _fork(caller: socket.socket, ours: list[socket.socket]) -> int:
    """Run in a process of its own what a caller asks for; the process."""
    head, descriptors, _, _ = socket.recv_fds(caller, 8, 3)
    with caller.makefile("rb") as stream:
        call = json.loads(stream.read(int.from_bytes(head, "big")))
    if not (process := os.fork()):
        for connection in (caller, *ours):
            connection.close()
        for number, descriptor in enumerate(descriptors):
            os.dup2(descriptor, number)
            os.close(descriptor)
        os._exit(_run(*call))
    for descriptor in descriptors:
        os.close(descriptor)
    return process


def _tell(caller: socket.socket, process: int) -> None:
    """Tell a caller how the process that it asked for ended."""
    _, status = os.waitpid(process, 0)
    code = os.waitstatus_to_exitcode(status)
    with caller, contextlib.suppress(OSError):
        caller.sendall((code if code >= 0 else 128 - code).to_bytes(4, "big"))


def _run(words: list[str], folder: str, environment: dict[str, str]) -> int:
    """Run a script as `python script arguments` does, in this process; its exit status."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    tempfile.tempdir = None  # found again, by TMPDIR
    importlib.reload(sys.modules["huggingface_hub.constants"])  # it has read the server's
    own = [part for part in environment.get("PYTHONPATH", "").split(os.pathsep) if part]
    try:
        if words[0] == "-m":
            sys.path[:1] = [folder, *own]
            sys.argv = words[1:]
            runpy.run_module(words[1], run_name="__main__", alter_sys=True)
        else:
            sys.path[:1] = [str(Path(words[0]).resolve().parent), *own]
            sys.argv = words
            runpy.run_path(words[0], run_name="__main__")
        code = 0
    except SystemExit as end:
        code = end.code or 0
        if not isinstance(code, int):  # the last words of a script that failed
            print(code, file=sys.stderr)
            code = 1
    except BaseException:
        sys.excepthook(*sys.exc_info())
        code = 1
    # All that an interpreter does in the end but take a thousand modules apart.
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    return code


if __name__ == "__main__":
    serve(sys.argv[1])
