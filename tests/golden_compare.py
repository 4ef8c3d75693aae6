"""A run of config/golden.yaml beside the tables in tests/golden, row by row.

    python tests/golden_compare.py RESULTS [FOLDER ...]

A golden file has key columns, `quantity` and `value`. `tests/golden/<folder>.yaml` says where its
rows stand now, if not in a table of the same name with the same keys:

    theorem_1: {table: decision_lists/theorem_1, rename: {old_key: new_key}, drop: [old_key],
                within: 1.0e-3, gone: "pandas query of rows that went"}
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

GOLDEN = Path(__file__).parent / "golden"


def compared(results: Path, folder: str) -> pd.DataFrame:
    """Every golden row of a folder: its old value, its new one, their relative difference."""
    places = GOLDEN / f"{folder}.yaml"
    mapped = (yaml.safe_load(places.read_text()) if places.exists() else {}) or {}
    parts = []
    for file in sorted((GOLDEN / folder).glob("*.csv")):
        how = mapped.get(file.stem) or {}
        old = pd.read_csv(file)
        if how.get("gone"):
            old = old.drop(old.query(how["gone"]).index)
        old = old.rename(columns=how.get("rename", {})).drop(columns=how.get("drop", []))
        new = pd.read_csv(results / "tables" / f"{how.get('table', f'{folder}/{file.stem}')}.csv")
        keys = [column for column in old if column in new and column not in _VALUES]
        old, new = (side.assign(**{k: side[k].map(_text) for k in keys}) for side in (old, new))
        both = old[[*keys, "value"]].merge(
            new[[*keys, "value"]], how="left", on=keys, suffixes=("_old", ""), indicator=True
        )
        scale = both["value_old"].abs().clip(lower=1e-300)
        both["difference"] = (both["value"] - both["value_old"]).abs() / scale
        same = both["value"].isna() & both["value_old"].isna() & (both["_merge"] == "both")
        both.loc[same | (both["value"] == both["value_old"]), "difference"] = 0.0
        both["within"] = how.get("within", 1e-9)
        both["row"] = both[keys].agg(" ".join, axis=1)
        parts.append(both.assign(file=file.stem))
    return pd.concat(parts)[["file", "row", "value_old", "value", "difference", "within"]]


_VALUES = ("value", "low", "high", "n")


def _text(key: object) -> str:
    """A key as text: 1 and 1.0 are the same, nothing is empty."""
    if isinstance(key, float | int | np.number) and not isinstance(key, bool):
        return "" if np.isnan(key) else f"{float(key):.9g}"
    return str(key)


def main() -> None:
    results = Path(sys.argv[1])
    folders = sys.argv[2:] or sorted(path.name for path in GOLDEN.iterdir() if path.is_dir())
    failed = 0
    for folder in folders:
        rows = compared(results, folder)
        off = rows[~(rows["difference"] <= rows["within"])]
        failed += len(off)
        largest = rows["difference"].max()
        print(f"{folder}: {len(rows)} rows, {(rows['difference'] == 0).sum()} equal, ", end="")
        print(f"{len(off)} off, largest difference {largest:.2g}")
        print(off.head(20).to_string() if len(off) else "", end="\n" if len(off) else "")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
