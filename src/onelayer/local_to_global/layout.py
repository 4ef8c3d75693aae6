"""The paper's tables for readers: tidy rows side by side, by quantity or by chain."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from onelayer.evidence.tables import EMPTY
from onelayer.settings.local_to_global import Chain


def by_chain(rows: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """A line per `keys` and quantity, a column per chain, and one for all chains together."""
    chains = [str(Chain(p, q)) if p > 0 else "all chains" for p, q in rows[["p", "q"]].to_numpy()]
    return side_by_side(rows.assign(chain=chains), [*keys, "quantity"], "chain")


def side_by_side(rows: pd.DataFrame, keys: Sequence[str], across: str) -> pd.DataFrame:
    """Tidy rows with `keys` down and `across` to the right: value, interval, (published).

    Four significant digits, as errors are of 1e-8 and iterations of 1,000.
    """
    numbers = rows[["value", "low", "high", "published"]].to_numpy()
    texts = rows[[*keys, across]].fillna("all").assign(cell=[_cell(*n) for n in numbers])
    grid = texts.set_index([*keys, across])["cell"].unstack(sort=False)
    return grid.fillna(EMPTY).rename_axis(columns=None).reset_index().astype(str)


def _cell(value: float, low: float, high: float, published: float) -> str:
    if np.isnan(value):
        return EMPTY
    interval = "" if np.isnan(low) else f" [{low:z.4g}, {high:z.4g}]"
    return f"{value:z.4g}{interval}" + ("" if np.isnan(published) else f" ({published:z.4g})")
