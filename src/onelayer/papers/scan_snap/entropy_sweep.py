"""The table of Fig. 6: entropy of attention for 64 combinations of size and learning rates."""

from pathlib import Path

import numpy as np
import pandas as pd

from onelayer.intervals import mean
from onelayer.papers.scan_snap.data import TOKEN_CHANCES
from onelayer.papers.scan_snap.measures import SETTINGS, distinct_entropy, entropy_by_run
from onelayer.tables import Report, number, tidy
from onelayer.verdicts import NO_EFFECT, NOT_REACHED, Number, judge, rounding, worded

# Before training, attention follows P(l): what 'no effect of training' means.
INITIAL_ENTROPY = float(distinct_entropy(TOKEN_CHANCES))


def read_published(path: Path) -> pd.DataFrame:
    """The 64 published cells: `SETTINGS`, `published`, `published_std`, `tolerance`.

    The data behind the authors' figure drop zeros at the end of a number: all have the digits of
    the one that has most.
    """
    printed = pd.read_csv(path, dtype=str)["published"]
    table = pd.read_csv(path).assign(tolerance=printed.map(rounding).min())
    return table[[*SETTINGS, "published", "published_std", "tolerance"]]


def cells(simulated: pd.DataFrame, iteration: int) -> pd.DataFrame:
    """Entropy of every setting after some iterations: mean, interval, standard deviation of seeds.

    Returns:
        Columns `num_last`, `lr_Z`, `lr_Y_multiplier`, `value`, `low`, `high`, `std`, `n`, `note`,
        `verdict`. Diverged runs are left out and counted in the note. The verdict is `not reached`
        where all diverged, or none has left the entropy before training, else empty.
    """
    runs = entropy_by_run(simulated)
    rows = []
    for keys, group in runs[runs["iteration"] == iteration].groupby(SETTINGS, sort=False):
        kept = group.loc[group["diverged_at"] < 0, "entropy"].to_numpy()
        lost = len(group) - len(kept)
        row = dict(zip(SETTINGS, keys, strict=True)) | mean(kept)
        row["std"] = kept.std(ddof=1) if len(kept) > 1 else np.nan
        row["note"] = f"{lost} of {len(group)} runs diverged and are left out" if lost else ""
        row["verdict"] = "" if len(kept) else NOT_REACHED
        # One run may come back to where it started; all of them have not left it.
        if len(kept) and (abs(kept - INITIAL_ENTROPY) <= NO_EFFECT).all():
            row["verdict"] = NOT_REACHED
            row["note"] = "; ".join(filter(None, [row["note"], "no run has left its start"]))
        rows.append(row)
    return pd.DataFrame(rows)


def assemble(simulated: pd.DataFrame, published: pd.DataFrame, iteration: int) -> pd.DataFrame:
    """Ours beside the published cells, tidy; published cells that were not run stay, marked."""
    table = cells(simulated, iteration).merge(published, on=SETTINGS, how="outer", sort=False)
    not_run = table["value"].isna() & table["note"].isna()
    table["note"] = table["note"].fillna("").mask(not_run, "not among the simulated settings")
    table = table.drop(columns="std").assign(quantity="entropy")
    order = table.sort_values(SETTINGS, kind="stable", ignore_index=True)
    return judge(tidy(order, SETTINGS), Number(INITIAL_ENTROPY))


def readable(table: pd.DataFrame) -> pd.DataFrame:
    """A row per size and lr_Z, a column per multiplier: ours, the published value, the verdict."""
    rows = []
    for (num_last, lr_Z), group in table.groupby(["num_last", "lr_Z"], sort=False):
        row = {"query tokens": f"{num_last}", "lr_Z": f"{lr_Z:g}"}
        for cell in group.itertuples():
            paper = f"{number(cell.published, 3)} ± {number(cell.published_std, 3)}"
            half = (cell.high - cell.low) / 2
            ours = f"{number(cell.value, 3)} ± {number(half, 3)}" if cell.n > 0 else "–"
            verdict = worded(cell.verdict, cell.effect_share)
            beside = "" if np.isnan(cell.published) else f"; paper {paper}: {verdict}"
            row[f"lr_Y/lr_Z = {cell.lr_Y_multiplier:g}"] = ours + beside
        rows.append(row)
    return pd.DataFrame(rows).fillna("–")


def reader_notes(table: pd.DataFrame) -> list[str]:
    """Notes under the readable table, the summary first."""
    both = table.dropna(subset=["value", "published"])
    notes = []
    if len(both):
        distance = (both["value"] - both["published"]).abs()
        close = (distance <= 2 * both["published_std"]).sum()
        notes.append(
            f"{close} of {len(both)} cells lie within two published standard deviations; "
            f"mean absolute difference {distance.mean():.4f} nats."
        )
    return [
        *notes,
        "Entropy (nats) of attention on the 10 distinct tokens of a class, renormalised, mean over "
        f"classes; attention by P(l) alone has {INITIAL_ENTROPY:.3f}, uniform attention 2.303.",
        "Ours: mean over seeds ± half of its 95% interval. Paper: mean ± standard deviation of 10 "
        "seeds. A seed has the same data and start under all learning rates.",
        "Verdicts: 'within' our interval reaches the published value, give or take two of its "
        "standard deviations and half a unit of its last digit; 'direction' our interval lies on "
        f"its side of {INITIAL_ENTROPY:.3f}; 'differs' on the other; 'open' on both, the "
        "published value among them or not; 'not reached' "
        "all runs diverged or stayed where they started.",
    ]


def report(simulated: pd.DataFrame, published: pd.DataFrame, iteration: int) -> Report:
    """The table of entropies for readers."""
    table = assemble(simulated, published, iteration)
    title = "Scan and Snap: entropy of attention (nats) against learning rates"
    return Report(table, readable(table), title, reader_notes(table))
