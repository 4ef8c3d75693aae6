"""A `python` for scripts of the project that has the slow imports behind it.

A script spends most of its time importing torch and transformers. Here a server imports them once;
a `python` in an environment of its own has it fork a process for each script, which has the
arguments, environment, folder and descriptors of its caller, and the modules of the project, and
ends when its caller is killed. Anything but a script goes to the real Python. What Python reads
from the environment when it starts (hash seed, encoding) takes a new interpreter, and so does
whatever is to be killed or timed: `tests.conftest` chooses.
"""

import atexit
import contextlib
import functools
import gc
import importlib
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
from dataclasses import dataclass
from pathlib import Path

IMPORTED = (
    *("gensim.models", "matplotlib.backends.backend_pdf", "pandas", "pyarrow.dataset", "seaborn"),
    *("torch", "transformers.modeling_utils"),
)
CALLER = """#!{python} -IS
import json, os, socket, sys
words = sys.argv[1:]
name = os.path.basename(words[0]) if words else ""
if not name.endswith(".py") or name in {anew!r}:
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
SECONDS = 60  # until the server answers


@dataclass(frozen=True)
class Pythons:
    """Two interpreters with the packages of this one, side by side.

    Attributes:
        real: starts as Python does; what it starts finds `forking` as `python`.
        forking: runs scripts in processes forked from the server.
    """

    real: Path
    forking: Path


@functools.cache
def pythons() -> Pythons:
    """A virtual environment around both, whose server ends with this process."""
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
    atexit.register(server.kill)
    found = Pythons(folder / "bin/real", folder / "bin/python")
    found.real.parent.mkdir()
    found.real.symlink_to(sys.executable)
    (folder / "lib").symlink_to(Path(sys.prefix, "lib"))
    if (kept := Path(sys.prefix, "pyvenv.cfg")).exists():
        shutil.copyfile(kept, folder / kept.name)
    caller = CALLER.format(python=sys.executable, address=str(address), anew=ANEW)
    found.forking.write_text(caller, encoding="utf-8")
    found.forking.chmod(0o755)
    deadline = time.monotonic() + SECONDS
    while not address.exists():
        assert server.poll() is None and time.monotonic() < deadline, "the server did not start"
        time.sleep(0.05)
    return found


def serve(address: str) -> None:
    """Fork a process for every caller until stdin ends."""
    for module in IMPORTED:
        importlib.import_module(module)
    gc.collect()
    gc.freeze()  # looking for garbage would copy every page into every process
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{address}-starts")
        listener.listen(64)
        Path(f"{address}-starts").rename(address)
        while sys.stdin not in select.select([listener, sys.stdin], [], [])[0]:
            caller, _ = listener.accept()
            with caller:
                if os.fork():
                    continue
                listener.close()
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                _attend(caller)


def _attend(caller: socket.socket) -> None:
    """Run one script in a process of its own, and tell its caller how it ended."""
    head, descriptors, _, _ = socket.recv_fds(caller, 8, 3)
    with caller.makefile("rb") as stream:
        call = json.loads(stream.read(int.from_bytes(head, "big")))
    if not (script := os.fork()):
        caller.close()
        for number, descriptor in enumerate(descriptors):
            os.dup2(descriptor, number)
            os.close(descriptor)
        os._exit(_run(*call))
    ended = os.pidfd_open(script)
    if ended not in select.select([caller, ended], [], [])[0]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(script, signal.SIGTERM)
    _, status = os.waitpid(script, 0)
    code = os.waitstatus_to_exitcode(status)
    with contextlib.suppress(OSError):
        caller.sendall((code if code >= 0 else 128 - code).to_bytes(4, "big"))
    os._exit(0)


def _run(words: list[str], folder: str, environment: dict[str, str]) -> int:
    """Run a script as `python script arguments` does, in this process; its exit status."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    tempfile.tempdir = None  # found again, by TMPDIR
    importlib.reload(sys.modules["huggingface_hub.constants"])  # it has read the server's
    own = [part for part in environment.get("PYTHONPATH", "").split(os.pathsep) if part]
    sys.path[:1] = [str(Path(words[0]).resolve().parent), *own]
    sys.argv = words
    try:
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
