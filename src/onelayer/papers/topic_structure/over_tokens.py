"""When does topic structure appear? The ratios of models pretrained here against tokens seen."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pandas as pd

from onelayer.papers.topic_structure import over_seeds
from onelayer.papers.topic_structure.over_seeds import SEED
from onelayer.settings.models import ModelSettings
from onelayer.tables import ALL, interval, number, tidy
from onelayer.verdicts import Number, judge

KEYS = ["model", "tokens_seen", "overlap", "threshold", SEED]
RATIOS = {
    "attention_ratio": "attention",
    "embedding_cosine_ratio": "embedding layer, cosine",
}
SUFFIXES = ("", "_null", "_null_corrected", "_z")
QUANTITIES = [f"{ratio}{suffix}" for ratio in RATIOS for suffix in SUFFIXES]
TITLE = "Topic structure against tokens seen, models pretrained here"
NOTES = [
    "Same-topic / different-topic mean over the mean of the same ratio with topics permuted within "
    "frequency strata; z: its distance from that null in standard deviations.",
    "Snapshots at powers of two of tokens seen, and the finished model; fewer articles than in the "
    "main tables.",
    over_seeds.NOTE,
]


def assemble(
    measures: Mapping[str, pd.DataFrame], models: Mapping[str, ModelSettings]
) -> pd.DataFrame:
    """The ratios of every model at every snapshot, over seeds and of each, tidy.

    Args:
        measures: rows of `probe.snapshots` by model.
        models: settings of those models.
    """
    parts = [
        rows.assign(model=name, note=[over_seeds.note(seed, models[name]) for seed in rows[SEED]])
        for name, rows in measures.items()
    ]
    table = pd.concat(parts, ignore_index=True).rename(columns={"tokens": "tokens_seen"})
    return judge(tidy(table[table["quantity"].isin(QUANTITIES)], KEYS), Number())


def readable(table: pd.DataFrame) -> pd.DataFrame:
    """One row per model and snapshot."""
    rows = []
    for (model, tokens), group in table.groupby(["model", "tokens_seen"], sort=False):
        by = group[group[SEED] == ALL].set_index("quantity")
        row = {"model": model, "tokens seen": f"{tokens:,}"}
        for quantity, name in RATIOS.items():
            ours = by.loc[f"{quantity}_null_corrected"]
            row[f"{name}: ratio / null [95%]"] = interval(
                ours["value"], ours["low"], ours["high"], 3
            )
            own = group[group["quantity"] == f"{quantity}_null_corrected"]
            row[f"{name}: over seeds"] = over_seeds.spread(own, 3)
            row[f"{name}: z"] = number(by.loc[f"{quantity}_z", "value"], 1)
        rows.append(row)
    return pd.DataFrame(rows)


def read_measures(names: Iterable[str], files: Sequence[Path]) -> dict[str, pd.DataFrame]:
    """Measures by model, from one Parquet file each in the same order."""
    return {name: pd.read_parquet(path) for name, path in zip(names, files, strict=True)}
