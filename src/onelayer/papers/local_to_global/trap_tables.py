"""The trap's table: who stays at the unigram model, when others leave, how it curves.

The theorem is of the canonical model: for p + q > 1 small starts end at a local minimum. Of the
whole transformer the paper shows that such starts stay. Here its curvature is measured, which says
whether they stay because it is a minimum; nothing is published of that.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from onelayer.evidence.intervals import mean, median, share, with_runs
from onelayer.evidence.tables import Report, interval_of, number, row_per, table, tidy
from onelayer.evidence.verdicts import (
    NOT_REACHED,
    TENTH,
    Direction,
    Number,
    from_runs,
    judge,
    worded,
)
from onelayer.papers.local_to_global.chain import Chain
from onelayer.papers.local_to_global.schedule import one_cycle
from onelayer.papers.local_to_global.training_tables import changes, close, escape
from onelayer.settings.local_to_global import (
    AUTHORS_CHAIN,
    PAPERS_START,
    TRAP_STARTS,
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
    "earlier_by_rate": Direction(0.5, 1, kind="analogue"),
    "time_by_rate": Number(None, kind="analogue"),
    "earlier_by_batch": Direction(0.5, 1, kind="analogue"),
    "earlier_by_inputs": Direction(0.5, 1, kind="analogue"),
}

BESIDE_LOWER = {
    "earlier_by_rate": "share earlier than at the next lower rate [95%], verdict",
    "time_by_rate": "learning time over that there [95%], verdict",
    "earlier_by_batch": "share earlier than at the next smaller batch [95%], verdict",
    "earlier_by_inputs": "share earlier than with the next fewer inputs [95%], verdict",
}


def median_time(times: np.ndarray) -> dict[str, object]:
    """The median time with its 95% interval; what never came is infinite."""
    row = median(times)
    if not np.isfinite(row["value"]):
        return {"verdict": NOT_REACHED, "note": "most seeds stay", "n": row["n"]}
    return {key: value if np.isfinite(value) else np.nan for key, value in row.items()}


def runs_of(curves: pd.DataFrame) -> list[pd.DataFrame]:
    """The runs of one variant on one chain, seed by seed."""
    return [run.sort_values("iteration") for _, run in curves.groupby("seed")]


def crossing(run: pd.DataFrame, chain: Chain) -> float:
    """Iterations until the `escape`, between the two looks around it.

    A run leaves exponentially: by a line of the logarithm of how far it has come, which is taken to
    be a hundredth of the way where it is less. A line of the loss itself crosses too early, the
    more so the faster the run leaves.
    """
    first = escape(run, chain)
    place = int((run["iteration"] < first).sum())
    if not 0 < place < len(run):
        return first
    times, losses = (run[name].to_numpy()[place - 1 : place + 1] for name in ("iteration", "loss"))
    come = np.maximum((chain.unigram_entropy - losses) / close(chain), TENTH)
    return float(np.interp(0.0, np.log(come), times))


def learning_times(iterations: np.ndarray, training: TrainingSettings) -> np.ndarray:
    """The learning rates' sum over so many iterations, of which the last may be a part of one."""
    rate = one_cycle(training.iterations, training.warm_up)
    rates = [training.lr * rate(step) for step in range(training.iterations)]
    done = np.interp(iterations, np.arange(len(rates) + 1), np.cumsum([0.0, *rates]))
    return np.where(np.isfinite(iterations), done, np.inf)


def _next_lower(trainings: Mapping[str, TrainingSettings], key: str) -> Iterator[tuple[str, str]]:
    """Each training with that of the next lower rate, batch or length, the same in all else."""
    for name, training in trainings.items():
        lower = [
            (getattr(other, key), of)
            for of, other in trainings.items()
            if getattr(other, key) < getattr(training, key)
            and other.model_copy(update={key: getattr(training, key)}) == training
        ]
        if lower:
            yield name, max(lower)[1]


def beside_next_lower(
    crossings: Mapping[str, np.ndarray], trainings: Mapping[str, TrainingSettings]
) -> list[dict]:
    """What a higher rate, a larger batch or more inputs do to the time until runs leave.

    Args:
        crossings: iterations until each seed leaves, infinite where it stays, [seeds] of each
            variant that starts at the unigram model of one chain.
        trainings: how each of them is trained.

    Returns:
        Rows `variant`, `quantity`: the share of the seeds that leave at fewer iterations than the
        same seed at the next lower rate or batch, or with the next fewer inputs, of those that
        leave at either; and of rates the geometric mean of the ratio of learning times, where all
        seeds leave at both.
    """
    rows = []
    for key, by in (("lr", "rate"), ("batch", "batch"), ("sequence_length", "inputs")):
        for name, lower in _next_lower(trainings, key):
            here, other = crossings[name], crossings[lower]
            note = {"variant": name, "note": f"beside: {lower}"}
            either = np.isfinite(here) | np.isfinite(other)
            none = {"verdict": NOT_REACHED, "n": 0}
            earlier = share(int((here < other).sum()), int(either.sum())) if either.any() else none
            rows.append(note | {"quantity": f"earlier_by_{by}"} | earlier)
            if key == "lr":
                times = [learning_times(crossings[of], trainings[of]) for of in (name, lower)]
                rows.append(note | {"quantity": "time_by_rate"} | _ratio(*times))
    return rows


def _ratio(times: np.ndarray, others: np.ndarray) -> dict[str, object]:
    """The geometric mean of the times' ratio, seed by seed: what stays has none."""
    both = int((np.isfinite(times) & np.isfinite(others)).sum())
    if both < len(times):
        return {"verdict": NOT_REACHED, "n": both, "published": 1.0}
    logs = mean(np.log(times / others))
    ends = {end: float(np.exp(logs[end])) for end in ("value", "low", "high")}
    return from_runs(ends) | {"n": both, "published": 1.0}


def _least(rows: Sequence[dict]) -> list[dict]:
    """Where the paper's start goes least of the way, of the chains other than the authors'."""
    of_papers = [r for r in rows if (r["variant"], r["quantity"]) == (PAPERS_START, "way_closed")]
    others = [r for r in of_papers if {"p": r["p"], "q": r["q"]} != AUTHORS_CHAIN]
    note, least = f"the least of {len(others)} chains", {"quantity": "least_way_closed"}
    return [
        r
        | least
        | {"note": "; ".join([note, *filter(None, [r["note"]])])}
        # Its interval reaches as far as any: `intervals.worst`, but for chains without a number.
        | {"low": np.min([other["low"] for other in others])}
        for r in sorted(others, key=lambda r: np.nan_to_num(r["value"], nan=-np.inf))[:1]
    ]


def _still_above(final: np.ndarray, chain: Chain) -> dict[str, str]:
    """Verdict and note where some runs have not come down to the unigram model, or diverged."""
    above = int((~(final <= chain.unigram_entropy + close(chain))).sum())
    said = f"{above} of {len(final)} seeds end above the unigram entropy, on their way down"
    said += " or diverged" * bool(np.isnan(final).any())
    return {"verdict": NOT_REACHED, "note": said} if above else {"note": ""}


def quantities_of(
    runs: pd.DataFrame, chain: Chain, training: TrainingSettings, crossings: np.ndarray
) -> dict[str, dict]:
    """What is measured of the runs of one variant on one chain, by name of the quantity."""
    each = runs_of(runs)
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
    escaped = [there.iloc[-1] for there in before if len(there)]
    way = chain.unigram_entropy - chain.bigram_entropy
    named = {
        "trapped_share": share(int(stay.sum()), len(each)),
        "escape_share": share(int(np.isfinite(times).sum()), len(each)),
        "escape_iteration": median_time(times),
        "escape_inputs": median_time(times * training.batch * training.sequence_length),
        "escape_time": median_time(learning_times(crossings, training)),
        "final_loss": mean(final),
        "way_closed": mean((chain.unigram_entropy - final) / way) | _still_above(final, chain),
    }
    for name, values in (("where_trapped", trapped), ("before_escape", escaped)):
        named[f"curvature_{name}"] = mean(values) if values else {"verdict": NOT_REACHED, "n": 0}
    return named


@row_per(*KEYS)
def readable(by: pd.DataFrame, p: float, q: float, variant: str) -> dict[str, str]:
    """A row per chain and variant."""
    trapped, way = by.loc["trapped_share"], by.loc["way_closed"]
    row = {
        "p": f"{p:.15g}",
        "q": f"{q:.15g}",
        "training": variant,
        "at the unigram model in the end": f"{trapped['value'] * trapped['n']:.0f} of "
        f"{trapped['n']:.0f}",
        "escape, median iteration [95%]": interval_of(by.loc["escape_iteration"], 0),
        "inputs by then": number(by.loc["escape_inputs", "value"], 0),
        "learning time by then [95%]": interval_of(by.loc["escape_time"], 2),
    }
    for quantity, label in BESIDE_LOWER.items():
        one = by.loc[quantity] if quantity in by.index else None
        row[label] = "–" if one is None else f"{interval_of(one)}, {worded(one)}"
    row |= {
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


def notes(training: TrainingSettings) -> list[str]:
    """What stands below the table."""
    return [
        f"{training.sequence_length} inputs, {training.batch} sequences, {training.iterations} "
        "iterations; the standard start and the paper's on chains with p + q > 1, with changes of "
        "the first, some on every chain.",
        "Where e = 0 and b is at its best the loss is the unigram entropy whatever the other "
        "weights are. Least curvature: the smallest eigenvalue of the Hessian there in e, b moving "
        "with it as is best, with the run's own other weights, in units of 2 h(0), what theorem 2 "
        "gives for small weights. Above 0: a local minimum (flat along the other weights); below: "
        "a way out. Before escaping: at the last look at which the run was still at the unigram "
        "model.",
        "At the unigram model: within a tenth of its distance from the bigram entropy. Escape: "
        "from then on below that. The median's interval is by order statistics; a seed that stays "
        "comes after all others. Inputs by then: symbols that a run was trained on. Learning time: "
        "the learning rates' sum over the iterations, between two looks by a line of the logarithm "
        "of how far the run has come.",
        "Earlier: seeds that leave at fewer iterations than the same seed at the next lower rate, "
        "at the next smaller batch or with the next fewer inputs, of those that leave at either; a "
        "half would be chance. "
        "Learning time over that at the next lower rate: the geometric mean over seeds, where all "
        "leave at both; 1 where steps are so small that all rates follow one flow.",
        "Predicted before a training was run: runs leave earlier at four times the rate, after the "
        "same learning time at eight times as at four, and earlier with larger batches, because "
        "the trap is opened by a drift and not left by noise. The columns beside the next lower "
        "say what came.",
        "Curvature of the whole transformer and chains other than (.5, .8) are beyond the paper: "
        "analogues of its theorem 2 and of figure 4.",
    ]


@table(
    "local_to_global/trap",
    "Transformers",
    "table: the trap",
    reads={"curves": "train_trapped.curves"},
    settings={
        "training": "local_to_global.trap.training",
        "everywhere": "local_to_global.trap.everywhere",
        "variants": "local_to_global.trap.variants",
    },
)
def trap(
    curves: pd.DataFrame,
    training: TrainingSettings,
    everywhere: list[Variant],
    variants: list[Variant],
) -> Report:
    """Curvature of the whole transformer at the unigram model, and who leaves it, by chain."""
    by_variant = {variant.name: variant for variant in [*TRAP_STARTS, *everywhere, *variants]}
    from_afar = papers_starts(by_variant.values())
    rows = []
    for (p, q), on_chain in curves.groupby(["p", "q"], sort=False):
        chain, key = Chain(p, q), {"p": p, "q": q}
        crossings, trainings = {}, {}
        for variant, runs in on_chain.groupby("variant", sort=False):
            changed = by_variant[variant].applied(training)
            times = np.array([crossing(run, chain) for run in runs_of(runs)])
            named = quantities_of(runs, chain, changed, times)
            if variant in from_afar:  # comes from far above the unigram entropy, was never there
                named = {of: row for of, row in named.items() if not of.startswith("curvature")}
            else:
                crossings[variant], trainings[variant] = times, changed
            as_trained = by_variant[variant] in TRAP_STARTS
            said = "as trained" if as_trained else changes(by_variant[variant], training)
            named["trapped_share"]["note"] = said
            of_variant = key | {"variant": variant}
            rows += [of_variant | {"quantity": name} | row for name, row in named.items()]
        rows += [key | row for row in beside_next_lower(crossings, trainings)]
    table = tidy(rows + _least(rows), KEYS)
    compared = [
        None
        if row.quantity == "way_closed" and row.variant not in from_afar
        else COMPARED.get(row.quantity)
        for row in table.itertuples()
    ]
    table = judge(with_runs(table), compared)
    title = "Is the unigram model a trap of the whole transformer?"
    return Report(table, readable(table), title, notes(training))
