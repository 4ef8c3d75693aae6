"""The table of Fig. 6: entropy of attention for 64 combinations of size and learning rates."""

from pathlib import Path

import numpy as np
import pandas as pd

from onelayer.evidence.intervals import half_width, mean, with_runs
from onelayer.evidence.tables import Report, number, row_per, table, tidy
from onelayer.evidence.verdicts import NOT_REACHED, Number, from_runs, judge, rounding, worded
from onelayer.papers.scan_snap.data import TOKEN_CHANCES
from onelayer.papers.scan_snap.measures import SETTINGS, distinct_entropy, entropy_by_run

# Before training, attention follows P(l): what 'no effect of training' means.
INITIAL_ENTROPY = float(distinct_entropy(TOKEN_CHANCES))
# So near to it a run counts as not having left it (nats).
UNMOVED_ENTROPY = 0.005
# Seeds behind a published mean and standard deviation.
PUBLISHED_RUNS = 10
# A mean of ten seeds is within so many standard errors of another one in about 95% of the cases.
CLOSE = 2.0


def read_published(path: Path) -> pd.DataFrame:
    """The 64 published cells: `SETTINGS`, `published`, `published_std`, `tolerance`."""
    # The data behind the authors' figure drop zeros at the end: all have the most digits of any.
    printed = pd.read_csv(path, dtype=str)["published"]
    table = pd.read_csv(path).assign(tolerance=printed.map(rounding).min())
    return table[[*SETTINGS, "published", "published_std", "tolerance"]]


def cells(simulated: pd.DataFrame, iteration: int) -> pd.DataFrame:
    """Entropy of every setting after some iterations: mean, interval, standard deviation of seeds.

    Returns:
        `SETTINGS`, `value`, `low`, `high`, `n`, `std`, `note`, `verdict`. Diverged runs are left
        out and counted in the note. The verdict is `not reached` where all diverged, or none has
        left the entropy before training, `undecided` where one run is left, else empty.
    """
    runs = entropy_by_run(simulated)
    rows = []
    for keys, group in runs[runs["iteration"] == iteration].groupby(SETTINGS, sort=False):
        kept = group.loc[group["diverged_at"] < 0, "entropy"].to_numpy()
        lost = len(group) - len(kept)
        notes = [f"{lost} of {len(group)} runs diverged and are left out"] * bool(lost)
        # One run may return to its start; where all are there, none has left it.
        unmoved = (abs(kept - INITIAL_ENTROPY) <= UNMOVED_ENTROPY).all()
        notes += ["no run has left its start"] * bool(len(kept) and unmoved)
        row = {"std": kept.std(ddof=1) if len(kept) > 1 else np.nan, "note": "; ".join(notes)}
        row |= {"verdict": NOT_REACHED} if unmoved else {}
        rows.append(dict(zip(SETTINGS, keys, strict=True)) | from_runs(mean(kept)) | row)
    return pd.DataFrame(rows)


def assemble(simulated: pd.DataFrame, published: pd.DataFrame, iteration: int) -> pd.DataFrame:
    """Ours beside the published cells, tidy; published cells that were not run stay, marked."""
    table = cells(simulated, iteration).merge(published, on=SETTINGS, how="outer", sort=False)
    not_run = table["n"].isna()
    table["note"] = table["note"].fillna("").mask(not_run, "not among the simulated settings")
    table = with_runs(table.drop(columns="std").assign(quantity="entropy"))
    return judged(tidy(table.sort_values(SETTINGS, kind="stable", ignore_index=True), SETTINGS))


def judged(entropies: pd.DataFrame) -> pd.DataFrame:
    """Tidy rows of `entropy`, one a cell, with their verdicts; behind each its `entropy_z`."""
    tested = both(entropies)
    note = "difference of the two means in standard errors (Welch)"
    z = tested[[*SETTINGS, "n"]].assign(quantity="entropy_z", value=welch(tested), note=note)
    table = pd.concat([entropies, tidy(z, SETTINGS)])
    table = table.sort_values([*SETTINGS, "quantity"], kind="stable", ignore_index=True)
    # Welch's statistic only describes.
    return judge(table, {"entropy": Number(INITIAL_ENTROPY, published_runs=PUBLISHED_RUNS)})


def both(table: pd.DataFrame) -> pd.DataFrame:
    """The cells' entropies that have our mean with an interval, and the paper's.

    Those whose runs did not leave their start show nothing, and are left out.
    """
    cells = table[(table["quantity"] == "entropy") & (table["verdict"] != NOT_REACHED)]
    return cells.dropna(subset=["value", "low", "published"])


def welch(cells: pd.DataFrame) -> np.ndarray:
    """Ours minus the published mean in standard errors of that difference (Welch), [cells].

    Cells are as `both` gives them.
    """
    # The interval's half by Student's quantile.
    ours = (cells["high"] - cells["low"]) / 2 / half_width(1.0, cells["n"]) / np.sqrt(cells["n"])
    theirs = cells["published_std"] / np.sqrt(PUBLISHED_RUNS)
    return ((cells["value"] - cells["published"]) / np.hypot(ours, theirs)).to_numpy()


def pooled(weights: np.ndarray, spreads: np.ndarray, together: np.ndarray) -> float:
    """The spread of a weighted sum of means: half of an interval, or a standard deviation.

    Means that rest on the same seeds, equal in `together` [means], vary together; how is not
    published, so that their spreads are added, the most that they can come to. Other seeds are
    independent: squares are added.
    """
    parts = pd.Series(np.abs(weights) * np.asarray(spreads)).groupby(np.asarray(together)).sum()
    return float(np.sqrt((parts**2).sum()))


def slope(cells: pd.DataFrame) -> dict[str, float]:
    """How large our effect of training is in units of the published one, over all cells together.

    With d = entropy - `INITIAL_ENTROPY`: sum of d_ours d_published / sum of d_published^2, the
    least squares slope through the start. Cells are as `both` gives them.

    Returns:
        `value`, `low`, `high`, `n` (seeds of a cell), and `std`, the standard deviation of the
        published slope over its seeds.
    """
    theirs = cells["published"] - INITIAL_ENTROPY
    weights = theirs / (theirs**2).sum()
    value = float((weights * (cells["value"] - INITIAL_ENTROPY)).sum())
    half = pooled(weights, (cells["high"] - cells["low"]) / 2, cells["num_last"])
    std = pooled(weights, cells["published_std"], cells["num_last"])
    n = int(cells["n"].min())
    return {"value": value, "low": value - half, "high": value + half, "n": n, "std": std}


@row_per("num_last", "lr_Z")
def readable(rows: pd.DataFrame, num_last: int, lr_Z: float) -> dict[str, str]:
    """A row per size and lr_Z, a column per multiplier: ours, the published value, the verdict."""
    row = {"query tokens": f"{num_last}", "lr_Z": f"{lr_Z:.15g}"}
    for cell in rows.loc[["entropy"]].to_dict("records"):
        paper = f"{number(cell['published'], 3)} ± {number(cell['published_std'], 3)}"
        half = number((cell["high"] - cell["low"]) / 2, 3)
        ours = f"{number(cell['value'], 3)} ± {half}" if cell["n"] > 0 else "–"
        compared = "" if np.isnan(cell["published"]) else f"; paper {paper}: {worded(cell)}"
        row[f"lr_Y/lr_Z = {cell['lr_Y_multiplier']:.15g}"] = ours + compared
    return row


def reader_notes(table: pd.DataFrame) -> list[str]:
    """Notes under the readable table, the summary first."""
    tested = both(table)
    notes = []
    if len(tested):
        z = np.abs(welch(tested))
        distance = (tested["value"] - tested["published"]).abs().mean()
        notes.append(
            f"Means of seeds against means of {PUBLISHED_RUNS} published seeds: "
            f"{(z <= CLOSE).sum()} of {len(z)} cells are within {CLOSE:g} standard errors of each "
            f"other (Welch; chance alone: about 95%), none further than {z.max():.2f}; mean "
            f"absolute difference {distance:.4f} nats."
        )
    return [
        *notes,
        "Entropy (nats) of attention on the 10 distinct tokens of a class, renormalised, mean over "
        f"classes; attention by P(l) alone has {INITIAL_ENTROPY:.3f}, uniform attention 2.303.",
        "Ours: mean over seeds ± half of its 95% interval. Paper: mean ± standard deviation of "
        f"{PUBLISHED_RUNS} seeds. A seed has the same data and start under all learning rates, so "
        "that the cells of one number of query tokens vary together.",
        "Verdicts: the one rule for all tables, on the change of entropy from "
        f"{INITIAL_ENTROPY:.3f} as a share of the published change, the published mean's own "
        "uncertainty granted; 'not reached' where all runs diverged or stayed where they started.",
    ]


@table(
    "scan_snap/entropy_sweep",
    "Synthetic",
    "table: entropy by learning rates",
    reads={"simulated": "entropy_sweep_simulation", "published": "reference/scan_snap_figure6.csv"},
    settings={"iterations": "scan_snap.entropy_sweep.iterations"},
)
def entropies(simulated: pd.DataFrame, published: Path, iterations: int) -> Report:
    """Entropy of attention by size and learning rates, ours beside the published cells."""
    table = assemble(simulated, read_published(published), iterations)
    title = "Scan and Snap: entropy of attention (nats) against learning rates"
    return Report(table, readable(table).fillna("–"), title, reader_notes(table))
