"""Times a portable run beside a plain one: the same trainings by turns, each in its own process.

Libraries read their switches when they are loaded, so that both cannot be timed in one process.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from statistics import median
from time import process_time

from onelayer.run import portable
from onelayer.run.provenance import REPOSITORY

PAIRS = 3


def cells(families: list[str], pairs: int = PAIRS, small: bool = False) -> Iterator[list[str]]:
    """A row for each family: CPU seconds of both, and how much more the portable one takes."""
    for family in families:
        times: dict[bool, list[float]] = {True: [], False: []}
        for _ in range(pairs):
            for switched, found in times.items():
                found.append(_timed(family, switched, small))
        slower, plain = median(times[True]), median(times[False])
        yield [family, f"{plain:.2f}", f"{slower:.2f}", f"{slower / plain:.2f}"]


def _timed(family: str, switched: bool, small: bool) -> float:
    environment = dict(os.environ)
    for name, value in portable.SWITCHES.items():
        environment.pop(name, None)
        if switched:
            environment[name] = value
    words = [sys.executable, "-m", "bench.portable", family, str(switched), str(small)]
    run = subprocess.run(
        words, env=environment, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True, check=True
    )
    return float(run.stdout.split()[-1])


def main(family: str, switched: bool, small: bool) -> float:
    """CPU seconds of one training in this process."""
    import torch

    from bench import bench_pretraining

    torch.set_num_threads(1)
    if switched:
        portable.start()
    [case] = [c for c in bench_pretraining.cases(small) if f", {family}, " in c.name]
    prepared = case.ours.prepare()
    start = process_time()
    case.ours.run(prepared)
    return process_time() - start


if __name__ == "__main__":
    family, switched, small = sys.argv[1:]
    print(main(family, switched == "True", small == "True"))
