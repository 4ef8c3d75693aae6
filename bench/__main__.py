"""`make bench`: times ours beside other ways in one run; `--scale`: against documents."""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"  # before numpy is loaded: its BLAS reads these once

import argparse
import platform
import sys
from collections import defaultdict
from pathlib import Path
from statistics import median
from time import process_time

import numpy as np
import pandas as pd
import torch

from bench import Way, cases, scale

SECONDS = 5.0  # about so long the ways of a case are repeated
FEWEST, MOST = 3, 15  # repetitions


def timed(way: Way) -> tuple[float, np.ndarray | None]:
    """CPU seconds that a way takes for all of our work, and its numbers."""
    prepared = way.prepare()
    start = process_time()
    numbers = way.run(*prepared)
    return (process_time() - start) / way.share, numbers


def measure(name: str, ways: list[Way]) -> list[dict]:
    """A row per way; all run once to compare numbers, then by turns.

    Raises:
        AssertionError: a way's numbers differ from ours by more than its tolerance.
    """
    first = {way: timed(way) for way in ways}
    for way in ways[1:]:
        if (numbers := first[way][1]) is not None:
            expected = way.of(first[ways[0]][1])
            most = way.tolerance * np.abs(expected).max()
            np.testing.assert_allclose(numbers, expected, rtol=0, atol=most, err_msg=way.name)
    seconds = sum(took * way.share for way, (took, _) in first.items())
    rounds, times = int(np.clip(SECONDS / seconds, FEWEST, MOST)), defaultdict(list)
    for _ in range(rounds):
        for way in ways:
            times[way].append(timed(way)[0])
    rows = []
    for way in ways:
        ratios = np.divide(times[way], times[ways[0]])
        row = {"case": name, "way": way.name, "milliseconds": 1e3 * median(times[way])}
        row |= {"times_ours": median(ratios), "low": ratios.min(), "high": ratios.max()}
        rows.append(row | {"rounds": rounds})
    return rows


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"cases: {', '.join(cases.CASES)}; default: all")
    parser.add_argument("--share", type=float, default=1.0, help="of steps, or of documents")
    parser.add_argument("--scale", action="store_true", help="time and memory by documents")
    parser.add_argument("--results", type=Path, default=Path("results"), help="inputs and tables")
    given = parser.parse_args()
    if unknown := set(given.names) - set(cases.CASES):
        parser.error(f"no case {', '.join(sorted(unknown))}")
    torch.set_num_threads(1)
    if given.scale:
        table, name = scale.measure(given.results, given.share), "bench_scale.csv"
    else:
        rows = []
        for case in given.names or cases.CASES:
            rows += measure(case, cases.CASES[case](given.share))
            print(f"{case}: done", file=sys.stderr, flush=True)
        table, name = pd.DataFrame(rows), "bench.csv"
    print(f"CPU time of one thread of {platform.processor() or platform.machine()}, times ours:")
    print(f"median, lowest and highest ratio of alternating repetitions; share {given.share:g}")
    with pd.option_context("display.width", 200, "display.max_colwidth", 70):
        print(table.to_string(index=False, float_format="{:,.3g}".format))
    Path("results").mkdir(exist_ok=True)
    table.to_csv(Path("results", name), index=False, float_format="%.5g")


if __name__ == "__main__":
    main()
