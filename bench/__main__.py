"""`make bench`: ours beside a good user's code, the authors' way and a floor, all in one run."""

import os

if __name__ == "__main__":
    # Before numpy is loaded: its BLAS reads these once.
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = "1"

import platform
import sys

import torch
from tabulate import tabulate

from bench import (
    bench_decision_lists,
    bench_head_removal,
    bench_lda,
    bench_local_to_global,
    bench_pretraining,
    bench_probe,
    bench_scan_snap,
    bench_text_model,
    bench_topic_structure,
    bench_uncertainty,
    portable,
)
from bench.case import Rates, measure
from onelayer.text.models.families import FAMILIES

BENCHES = [
    bench_lda,
    bench_probe,
    bench_head_removal,
    bench_uncertainty,
    bench_pretraining,
    bench_topic_structure,
    bench_scan_snap,
    bench_text_model,
    bench_decision_lists,
    bench_local_to_global,
]
COLUMNS = ["what", "ours, ms", "simple, ms", "authors, ms", "floor, ms"]
RATIOS = ["simple / ours", "authors / ours", "ours / floor"]


def main(chosen: list[str]) -> None:
    """Print the rates, one table of all cases (of the benches named, if any), and what they are."""
    torch.set_num_threads(1)
    rates = Rates.measured()
    print(f"One thread, {platform.processor() or platform.machine()}; medians of CPU time.")
    for name, rate in rates.flops.items():
        print(f"matrix product, {name}: {rate / 1e9:,.0f} GFLOP/s")
    print(f"copy, bytes read and written: {rates.bytes / 1e9:,.1f} GB/s\n")
    rows = []
    for bench in BENCHES:
        if not chosen or bench.__name__.rpartition("bench_")[2] in chosen:
            for case in bench.cases():
                rows.append(measure(case, rates))
                print(*rows[-1].cells, sep="  ", file=sys.stderr, flush=True)
    cells, aligned = [row.cells for row in rows], ["left"] + ["right"] * 7
    print(tabulate(cells, COLUMNS + RATIOS, colalign=aligned, disable_numparse=True))
    print("\nA ratio below 1 in the column simple / ours: ours is the slower one.\n")
    print("\n".join(row.notes for row in rows))
    if not chosen or "portable" in chosen:
        print("\nPretraining in a portable run beside a plain one, CPU seconds; docs/bytes.md:")
        headers = ["family", "plain", "portable", "portable / plain"]
        print(tabulate(list(portable.cells(list(FAMILIES))), headers, disable_numparse=True))


if __name__ == "__main__":
    main(sys.argv[1:])
