"""The trap's table and figure: who stays at the unigram model, when others leave, how it curves.

The theorem is of the canonical model: for p + q > 1 small starts end at a local minimum. Of the
whole transformer the paper shows that such starts stay. Here its curvature is measured, which says
whether they stay because it is a minimum; nothing is published of that.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.stats import binom

from onelayer.evidence.intervals import mean, share
from onelayer.evidence.tables import Report, interval_of, row_per, table, tidy
from onelayer.evidence.verdicts import NOT_REACHED, Direction, judge, worded
from onelayer.papers.local_to_global.chain import Chain
from onelayer.papers.local_to_global.flow_tables import with_runs
from onelayer.papers.local_to_global.training_tables import changes, close
from onelayer.settings.local_to_global import (
    PAPERS_START,
    TrainingSettings,
    Variant,
    papers_starts,
)

KEYS = ["p", "q", "variant"]
COMPARED = {
    "curvature_where_trapped": Direction(0, 1, kind="analogue"),
    "curvature_before_escape": Direction(0, -1, kind="analogue"),
    "way_closed": Direction(0.5, 1, kind="analogue"),
    "least_way_closed": Direction(0.5, 1, kind="analogue"),
}


def escape(run: pd.DataFrame, chain: Chain) -> float:
    """First iteration from which on the loss lies below the unigram entropy; infinite: none."""
    below = run["loss"].to_numpy() < chain.unigram_entropy - close(chain)
    after = np.logical_and.accumulate(below[::-1])[::-1]
    return float(run["iteration"].to_numpy()[after.argmax()]) if after.any() else np.inf


def median(times: np.ndarray) -> dict[str, object]:
    """The median time with its 95% interval by order statistics; what never came is after all."""
    times, n = np.sort(times), len(times)
    if not np.isfinite(np.median(times)):
        return {"verdict": NOT_REACHED, "note": "most seeds stay", "n": n}
    row = {"value": float(np.median(times)), "n": n}
    least = int(binom.ppf(0.025, n, 0.5))
    if binom.cdf(least - 1, n, 0.5) <= 0.025 and least > 0:
        row |= {"low": times[least - 1], "high": times[n - least]}
    return {key: value if np.isfinite(value) else np.nan for key, value in row.items()}


def _least(rows: Sequence[dict]) -> list[dict]:
    """Where the paper's start goes least of the way, of the chains but the first, the authors'."""
    of_papers = [r for r in rows if (r["variant"], r["quantity"]) == (PAPERS_START, "way_closed")]
    first = (rows[0]["p"], rows[0]["q"])
    others = [r for r in of_papers if (r["p"], r["q"]) != first]
    note = f"the least of {len(others)} chains"
    return [
        r | {"quantity": "least_way_closed", "note": note}
        for r in sorted(others, key=lambda r: r["value"])[:1]
    ]


def quantities_of(runs: pd.DataFrame, chain: Chain) -> dict[str, dict]:
    """What is measured of the runs of one variant on one chain, by name of the quantity."""
    each = [run.sort_values("iteration") for _, run in runs.groupby("seed")]
    times = np.array([escape(run, chain) for run in each])
    final = np.array([run["loss"].iloc[-1] for run in each])
    stay = np.abs(final - chain.unigram_entropy) <= close(chain)
    trapped = [run["curvature"].iloc[-1] for run, stays in zip(each, stay, strict=True) if stays]
    near = [np.abs(run["loss"] - chain.unigram_entropy) <= close(chain) for run in each]
    before = [
        run.loc[there & (run["iteration"] < time), "curvature"]
        for run, there, time in zip(each, near, times, strict=True)
        if np.isfinite(time)
    ]
    left = [there.iloc[-1] for there in before if len(there)]
    way = chain.unigram_entropy - chain.bigram_entropy
    found = {
        "trapped_share": share(int(stay.sum()), len(each)),
        "escape_iteration": median(times),
        "final_loss": mean(final),
        "way_closed": mean((chain.unigram_entropy - final) / way),
    }
    for name, values in (("where_trapped", trapped), ("before_escape", left)):
        found[f"curvature_{name}"] = mean(values) if values else {"verdict": NOT_REACHED, "n": 0}
    return found


@row_per(*KEYS)
def readable(by: pd.DataFrame, p: float, q: float, variant: str) -> dict[str, str]:
    """A row per chain and variant."""
    trapped, time, way = (
        by.loc[name] for name in ("trapped_share", "escape_iteration", "way_closed")
    )
    row = {
        "p": f"{p:g}",
        "q": f"{q:g}",
        "training": variant,
        "at the unigram model in the end": f"{trapped['value'] * trapped['n']:.0f} of "
        f"{trapped['n']:.0f}",
        "escape, median iteration [95%]": interval_of(time, 0),
        "final loss [95%]": interval_of(by.loc["final_loss"], 4),
        "way to the bigram entropy [95%]": interval_of(way, 2),
        "more than half": worded(way),
    }
    for name, label in (("where_trapped", "where trapped"), ("before_escape", "before escaping")):
        one = by.loc[f"curvature_{name}"] if f"curvature_{name}" in by.index else None
        row[f"least curvature {label} [95%]"] = interval_of(one, 2)
        row["above 0" if name == "where_trapped" else "below 0"] = (
            "–" if one is None else worded(one)
        )
    return row | {"what changes": trapped["note"]}


@table(
    "local_to_global/trap",
    "Transformers",
    "table: the trap",
    reads={"curves": "train_trapped.curves"},
    settings={
        "training": "local_to_global.trap.training",
        "variants": "local_to_global.trap.variants",
    },
)
def trap(curves: pd.DataFrame, training: TrainingSettings, variants: list[Variant]) -> Report:
    """Curvature of the whole transformer at the unigram model, and who leaves it, by chain."""
    said, from_afar = {v.name: changes(v, training) for v in variants}, papers_starts(variants)
    rows = []
    for (p, q, variant), runs in curves.groupby(KEYS, sort=False):
        chain = Chain(p, q)
        found = quantities_of(runs, chain)
        if variant in from_afar:  # comes from far above the unigram entropy and never was there
            found = {name: row for name, row in found.items() if not name.startswith("curvature")}
        found["trapped_share"]["note"] = said.get(variant, "as trained")
        rows += [dict(zip(KEYS, (p, q, variant), strict=True)) | {"quantity": name} | row
                 for name, row in found.items()]  # fmt: skip
    table = tidy(rows + _least(rows), KEYS)
    compared = [
        None
        if row.quantity == "way_closed" and row.variant not in from_afar
        else COMPARED.get(row.quantity)
        for row in table.itertuples()
    ]
    table = judge(with_runs(table), compared)
    title = "Is the unigram model a trap of the whole transformer?"
    notes = [
        f"{training.sequence_length} inputs, {training.batch} sequences, {training.iterations} "
        "iterations; the standard start and the paper's on chains with p + q > 1, changes of the "
        "first on the first chain.",
        "Where e = 0 and b is at its best the loss is the unigram entropy whatever the other "
        "weights are. Least curvature: the smallest eigenvalue of the Hessian there in e, b moving "
        "with it as is best, with the run's own other weights, in units of 2 h(0), what theorem 2 "
        "gives for small weights. Above 0: a local minimum (flat along the other weights); below: "
        "a way out. Before escaping: at the last look at which the run was still at the unigram "
        "model.",
        "At the unigram model: within a tenth of its distance from the bigram entropy. Escape: "
        "from then on below that. The median's interval is by order statistics; a seed that stays "
        "comes after all others.",
        "Curvature of the whole transformer and chains other than (.5, .8) are beyond the paper: "
        "analogues of its theorem 2 and of figure 4.",
    ]
    return Report(table, readable(table), title, notes)
