"""`make mutate`: make each fault of the table in a copy of the project, and run its test there.

One line per fault: noticed (its test fails), SURVIVED (it passes), or `does not apply`, where the
table has fallen behind the library or the test fails without the fault, too. Exit status 1 where
fewer than 95% are noticed, where one survives without a reason in the table, and where one does not
apply. Words given as arguments choose the faults in whose line one of them stands.
"""

import argparse
import os
import sys
import time
from collections import Counter
from pathlib import Path

from tests.mutations import Fault
from tests.mutations.table import FAULTS
from tests.mutations.trials import in_copies, run_tests, write

HOUR = 3600
SECONDS = 60  # for a fault, beside five times what its tests take; one that hangs has noticed it
LEAST_NOTICED = 0.95
NOTICED, SURVIVED, MISFIT = "noticed", "SURVIVED", "does not apply"


def line(fault: Fault) -> str:
    """What the table says of a fault, in one line."""
    return f"{fault.module}: {fault.why} [{fault.test}]"


def try_faults(project: Path, faults: list[Fault]) -> list[tuple[str, Fault]]:
    """What comes of each fault of which one file has the tests; they are to pass without any."""
    tests = list(dict.fromkeys(fault.test for fault in faults))
    start = time.monotonic()
    status, output = run_tests(tests, project, HOUR)
    if status:
        print(output, flush=True)
        return [(MISFIT, fault) for fault in faults]
    seconds = SECONDS + 5 * (time.monotonic() - start)
    return [(try_fault(project, fault, seconds), fault) for fault in faults]


def try_fault(project: Path, fault: Fault, seconds: float) -> str:
    """Run the fault's test on a copy of the project with the fault in it, and take it out again."""
    module = project / fault.path
    whole = module.read_text(encoding="utf-8")
    if (faulty := fault.applied(whole)) is None:
        return MISFIT
    write(module, faulty)
    status, _ = run_tests([fault.test], project, seconds, ["-x"])
    write(module, whole)
    # 4 and 5 of pytest: there is no such test.
    return {0: SURVIVED, 4: MISFIT, 5: MISFIT}.get(status, NOTICED)


def main() -> int:
    """Make the chosen faults, those of one file of tests after each other; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("words", nargs="*", help="of the faults' lines")
    parser.add_argument("--processes", type=int, default=min(4, len(os.sched_getaffinity(0))))
    asked = parser.parse_args()
    by_file: dict[str, list[Fault]] = {}
    for fault in FAULTS:
        if not asked.words or any(word in line(fault) for word in asked.words):
            by_file.setdefault(fault.test.partition("::")[0], []).append(fault)
    found: Counter[str] = Counter()
    start = time.monotonic()
    for outcomes in in_copies(try_faults, by_file.values(), asked.processes):
        for outcome, fault in outcomes:
            found[outcome] += 1
            reason = f" ({fault.survives})" if outcome == SURVIVED and fault.survives else ""
            found["unexplained"] += outcome == MISFIT or (outcome == SURVIVED and not reason)
            print(f"{outcome}: {line(fault)}{reason}", flush=True)
    parts = ", ".join(f"{found[outcome]} {outcome}" for outcome in (NOTICED, SURVIVED, MISFIT))
    faults = sum(map(len, by_file.values()))
    print(f"{faults} faults: {parts}; {time.monotonic() - start:.0f} s")
    return int(bool(found["unexplained"]) or found[NOTICED] < LEAST_NOTICED * faults)


if __name__ == "__main__":
    sys.exit(main())
