"""`make mutate`: make each fault of the table in a copy of the project, and run its test there.

One line per fault: noticed (its test fails), SURVIVED (it passes), or `does not apply`, where the
table has fallen behind the library. Exit status 1 where fewer than 90% are noticed, where one
survives without a reason in the table, and where one does not apply. Words given as arguments
choose the faults in whose line one of them stands.
"""

import contextlib
import itertools
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.conftest import clean_environment, copy_project
from tests.mutations import Fault
from tests.mutations.table import FAULTS

SECONDS = 120  # for one fault; a test that hangs has noticed it
LEAST_NOTICED = 0.9
NOTICED, SURVIVED, MISFIT = "noticed", "SURVIVED", "does not apply"
_moments = itertools.count(1)


def line(fault: Fault) -> str:
    """What the table says of a fault, in one line."""
    return f"{fault.module}: {fault.why} [{fault.test}]"


def try_fault(fault: Fault, project: Path) -> str:
    """Run the fault's test on a copy of the project with the fault in it, and take it out again."""
    module = project / fault.path
    whole = module.read_text(encoding="utf-8")
    if (faulty := fault.applied(whole)) is None:
        return MISFIT
    write(module, faulty)
    status, _ = run_tests([fault.test], project, SECONDS)
    write(module, whole)
    # 4 and 5 of pytest: there is no such test.
    return {0: SURVIVED, 4: MISFIT, 5: MISFIT}.get(status, NOTICED)


def write(module: Path, text: str) -> None:
    """Write a module under a second of its own, by which Python tells its compiled files apart."""
    module.write_text(text, encoding="utf-8")
    moment = next(_moments)
    os.utime(module, (moment, moment))


def run_tests(
    tests: list[str], project: Path, seconds: float, further: Sequence[str] = ("-x",)
) -> tuple[int, str]:
    """Exit status and output of pytest in the project; a run that takes too long has failed."""
    options = ["-q", "-p", "no:cacheprovider", f"--basetemp={project / '.pytest'}", *further]
    with subprocess.Popen(
        [sys.executable, "-m", "pytest", *options, *tests],
        cwd=project,
        env=clean_environment(PYTHONPATH=str(project / "src")),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as run:
        try:
            output, _ = run.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(run.pid, signal.SIGKILL)
            return 1, f"more than {seconds:g} seconds"
    return run.returncode, output


def main(words: list[str]) -> int:
    """Make the chosen faults one after the other; the exit status."""
    chosen = [fault for fault in FAULTS if not words or any(word in line(fault) for word in words)]
    found: Counter[str] = Counter()
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="onelayer-mutations-") as folder:
        project = copy_project(Path(folder))
        tests = list(dict.fromkeys(fault.test for fault in chosen))
        status, output = run_tests(tests, project, SECONDS * 5)
        if status:
            print(f"{output}\nwithout any fault a test fails: nothing can be said")
            return 1
        for fault in chosen:
            outcome = try_fault(fault, project)
            found[outcome] += 1
            reason = f" ({fault.survives})" if outcome == SURVIVED and fault.survives else ""
            found["unexplained"] += outcome == MISFIT or (outcome == SURVIVED and not reason)
            print(f"{outcome}: {line(fault)}{reason}", flush=True)
    parts = ", ".join(f"{found[outcome]} {outcome}" for outcome in (NOTICED, SURVIVED, MISFIT))
    print(f"{len(chosen)} faults: {parts}; {time.monotonic() - start:.0f} s")
    return int(bool(found["unexplained"]) or found[NOTICED] < LEAST_NOTICED * len(chosen))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
