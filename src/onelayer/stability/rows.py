"""Rows of the papers' tables as claims that are measured again."""

import pandas as pd

from onelayer.evidence.tables import VALUE_COLUMNS, tidy
from onelayer.papers import PAPERS
from onelayer.stability import CLAIM


def claims_of(paper: str, table: pd.DataFrame) -> pd.DataFrame:
    """Rows of a paper's table under its name and `claim`; further keys of it are left out."""
    return tidy(table.assign(paper=PAPERS[paper]).filter([*CLAIM, *VALUE_COLUMNS]), CLAIM)
