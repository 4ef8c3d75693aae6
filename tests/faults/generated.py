"""Bad input by generation: what the tests of it share, and how many cases they tried."""

import gc
import logging
import os
import runpy
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from tests.conftest import ROOT

# The same cases on every machine and in every run: what fails, fails for everyone.
GENERATED = settings(
    derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck)
)


class Cases:
    """Counts generated cases; the sum stands at the end of what pytest prints."""

    def __init__(self, item: pytest.Item) -> None:
        self._properties = item.user_properties

    def count(self, tried: int = 1) -> None:
        """Count cases that were tried."""
        self._properties.append(("generated cases", tried))


@dataclass(frozen=True)
class Ended:
    """How a step ended.

    Attributes:
        code: exit code.
        said: what it logged.
    """

    code: int
    said: list[str]


def run_in_process(script: str, *arguments: object) -> Ended:
    """Run a step as its command line would, in this process: a hundredth of the time."""
    said: list[str] = []
    listener = logging.Handler()
    listener.emit = lambda record: said.append(logging.Formatter().format(record))
    log, handler = logging.getLogger("onelayer"), signal.getsignal(signal.SIGTERM)
    log.addHandler(listener)
    path = ROOT / "scripts" / f"{script}.py"
    try:
        with (
            mock.patch.object(sys, "argv", [str(path), *map(str, arguments)]),
            mock.patch.object(gc, "freeze"),
            mock.patch.dict(os.environ),
        ):
            runpy.run_path(str(path), run_name="__main__")
    except SystemExit as end:
        return Ended(end.code, said)
    finally:
        log.removeHandler(listener)
        signal.signal(signal.SIGTERM, handler)
    return Ended(0, said)


def check_ended(ended: Ended, outputs: Sequence[Path], *names: object) -> None:
    """A step has written all of its outputs, or says why not in one line that holds these names."""
    folder = outputs[0].parent
    if ended.code == 0:
        assert all(path.is_file() for path in outputs)
    else:
        assert ended.code == 1
        [line] = [text for text in ended.said if "attempt" not in text]
        assert line.isprintable() and len(line) < 1200, line
        assert all(str(name) in line for name in names), line
        assert not [path for path in outputs if path.exists()], line
    assert not list(folder.glob(".part-*"))


def spoiled(whole: bytes) -> st.SearchStrategy[bytes]:
    """What is left of a file that was cut, or in which bytes were changed, lost or put in."""
    place = st.integers(0, len(whole) - 1)
    cut = place.map(lambda end: whole[:end])
    lost = st.tuples(place, st.integers(1, 40)).map(lambda t: whole[: t[0]] + whole[t[0] + t[1] :])
    changed = st.tuples(place, st.binary(min_size=1, max_size=8)).map(
        lambda t: whole[: t[0]] + t[1] + whole[t[0] + len(t[1]) :]
    )
    inserted = st.tuples(place, st.binary(min_size=1, max_size=8)).map(
        lambda t: whole[: t[0]] + t[1] + whole[t[0] :]
    )
    return cut | lost | changed | inserted
