"""Times the reduced flow of the decision lists, alone and against the full L x L flow."""

from math import comb
from time import perf_counter
from typing import Any

from onelayer.papers.decision_lists import attention, reduced
from onelayer.papers.decision_lists.reduced import Setting
from onelayer.settings.decision_lists import FullRun, size_of


def rows() -> list[dict[str, Any]]:
    """Measurements: 108 settings at once, and one setting against its enumerated full flow."""
    return [_grid(), _against_full_flow()]


def _grid() -> dict[str, Any]:
    settings = [
        Setting(L, n, m, delta)
        for L in (16, 32, 64, 128)
        for n in (4, 8, 16)
        for m in (2, 3, 4)
        for delta in (0.5, 1.0, 2.0)
    ]
    start = perf_counter()
    flow = reduced.solve(settings)
    return {
        "name": f"decision lists, reduced flow of {len(settings)} settings",
        "ours_seconds": perf_counter() - start,
        "baseline_seconds": None,
        "ratio": None,
        "note": f"{flow.steps.sum():,} Heun steps, {flow.steps.max():,} in the longest setting",
    }


def _against_full_flow() -> dict[str, Any]:
    block = FullRun(L=16, n=4, m=3, method="full", record_every=100)
    start = perf_counter()
    short = reduced.solve([Setting(*size_of(block))])
    middle = perf_counter()
    whole = attention.train(attention.AttentionRun(block, seed=0))
    end = perf_counter()
    error = abs(short.t_star[0] / whole.t_star - 1)
    return {
        "name": "decision lists, reduced flow, L 16, n 4, m 3",
        "ours_seconds": middle - start,
        "baseline_seconds": end - middle,
        "ratio": (end - middle) / (middle - start),
        "note": f"full flow over {comb(block.L, block.n):,} sequences; t* agrees to {error:.0e}",
    }
