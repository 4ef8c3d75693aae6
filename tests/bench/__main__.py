"""`make bench`: every measurement of the project in one run, ours against a named baseline."""

import os

if __name__ == "__main__":
    # Before numpy is loaded: its BLAS reads these once.
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = "1"

import platform

import torch
from tabulate import tabulate

from tests.bench import (
    bench_decision_lists,
    bench_forward,
    bench_lda,
    bench_local_to_global,
    bench_pretraining,
    bench_probe,
    bench_scan_snap,
    bench_topic_structure,
)

ROOMS = [
    bench_lda,
    bench_probe,
    bench_forward,
    bench_topic_structure,
    bench_pretraining,
    bench_decision_lists,
    bench_scan_snap,
    bench_local_to_global,
]


def main() -> None:
    """Print one table: seconds of ours and of the baseline, and their ratio."""
    torch.set_num_threads(1)
    table = []
    for room in ROOMS:
        for row in room.rows():
            baseline, ratio = row["baseline_seconds"], row["ratio"]
            table.append(
                [
                    row["name"],
                    f"{row['ours_seconds'] * 1e3:,.2f}",
                    "" if baseline is None else f"{baseline * 1e3:,.1f}",
                    "" if ratio is None else f"{ratio:,.0f}x",
                    row.get("note", ""),
                ]
            )
    print(f"One thread, {platform.processor() or platform.machine()}, medians of wall time.\n")
    print(tabulate(table, ["what", "ours, ms", "baseline, ms", "ratio", "note"]))


if __name__ == "__main__":
    main()
