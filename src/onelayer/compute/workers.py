"""Processes that compute on shared arrays, each its share, and end with the one that started them.

Each waits at a pipe that closes with its parent, however that ended; shared arrays have no name
that could outlive them.
"""

import multiprocessing
import signal
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection

import numpy as np
from threadpoolctl import threadpool_limits

from onelayer.errors import OnelayerError

SPAWN = multiprocessing.get_context("spawn")


class SharedArray:
    """An array of zeros that so many workers see; given to them when they are started."""

    def __init__(self, shape: tuple[int, ...], workers: int, dtype: type = np.float64) -> None:
        self.shape, self.dtype = shape, np.dtype(dtype)
        size = int(np.prod(shape)) * self.dtype.itemsize
        # One worker is this process; memory to share is short in some containers.
        self._memory = np.zeros(size, np.uint8) if workers == 1 else SPAWN.RawArray("B", size)

    @property
    def array(self) -> np.ndarray:
        """The memory itself, no copy."""
        return np.frombuffer(self._memory, self.dtype).reshape(self.shape)


class Workers:
    """So many objects, each in a process of its own that ends with this context; or one, here.

    `make(place, count, *arguments)` is the object at a place from 0; the arguments are what can be
    pickled, and shared arrays.
    """

    def __init__(self, count: int, make: Callable, *arguments: object) -> None:
        self._processes: list[multiprocessing.process.BaseProcess] = []
        self._pipes: list[Connection] = []
        self._here = make(0, 1, *arguments) if count == 1 else None
        self._count, self._make, self._arguments = count, make, arguments

    def __enter__(self) -> "Workers":
        if self._here is None:
            for place in range(self._count):
                ours, theirs = SPAWN.Pipe()
                process = SPAWN.Process(
                    target=_serve,
                    args=(theirs, self._make, place, self._count, *self._arguments),
                    daemon=True,
                )
                self._pipes.append(ours)
                process.start()
                self._processes.append(process)
                theirs.close()
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            process.kill()  # they hold nothing that would have to be put away
        for process in self._processes:
            process.join()

    def start(self, method: str, *arguments: object) -> None:
        """Let all call a method; `wait` before the next one.

        Raises:
            OnelayerError: a process is gone.
        """
        if self._here is not None:
            getattr(self._here, method)(*arguments)
        for place, pipe in enumerate(self._pipes):
            try:
                pipe.send((method, arguments))
            except BrokenPipeError:
                raise self._gone(place) from None

    def wait(self) -> None:
        """Wait until all are done.

        Raises:
            OnelayerError: a process is gone.
            Exception: what the method raised in a process, with its traceback as a note.
        """
        for place, pipe in enumerate(self._pipes):
            try:
                error = pipe.recv()
            except (EOFError, ConnectionResetError):
                raise self._gone(place) from None
            if error is not None:
                raise error

    def call(self, method: str, *arguments: object) -> None:
        """`start` and `wait`."""
        self.start(method, *arguments)
        self.wait()

    def _gone(self, place: int) -> OnelayerError:
        process = self._processes[place]
        process.join()
        cause = f"exit status {process.exitcode}"
        if process.exitcode < 0:
            cause = signal.Signals(-process.exitcode).name
            cause += " (out of memory?)" if cause == "SIGKILL" else ""
        return OnelayerError(f"worker process {place + 1} of {self._count} ended: {cause}")


def _serve(pipe: Connection, make: Callable, *arguments: object) -> None:
    """What a worker process does: its share, again and again, until its parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent's to answer
    worker = None
    with threadpool_limits(limits=1):
        while True:
            try:
                method, values = pipe.recv()
            except (EOFError, ConnectionResetError):
                return
            try:
                worker = worker or make(*arguments)
                getattr(worker, method)(*values)
                answer = None
            except Exception as error:
                error.add_note(f"in a worker process:\n{traceback.format_exc()}")
                answer = error
            try:
                pipe.send(answer)
            except (BrokenPipeError, ConnectionResetError):
                return
