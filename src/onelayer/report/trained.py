"""Every small model trained on text, of all kept runs: what it learned, and where attention goes.

Runs are kept for one question each. Here their trainings stand together, so that what no one run
shows can be looked for: after which inputs attention follows topics, and after how much learning.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pandas as pd

from onelayer.evidence.tables import ALL, interval_of, markdown_table, read_csv
from onelayer.papers.topic_structure.wikipedia.over_seeds import SEED
from onelayer.papers.topic_structure.wikipedia.over_tokens import tokens_shown
from onelayer.papers.topic_structure.wikipedia.probe.value_circuit import FIRST, GAP
from onelayer.papers.topic_structure.wikipedia.topics_per_input import (
    ARTICLES,
    CORRECTED,
    MOST,
    ORDERS,
    kind_of,
)
from onelayer.run.provenance import REPOSITORY
from onelayer.settings.pretraining import FamilyName
from onelayer.settings.root import Settings, default_settings, with_overlays

TITLE = "Small models trained on text, and whether their attention follows topics"
TABLE, CIRCUITS = "topic_structure/topics_per_input", "topic_structure/value_circuit"
AT_EQUAL_DISTANCE = "attention_ratio_distance_standardised_null_corrected"
# Attention within topics over permuted topics, by column: on what, and at what distance.
ATTENTION = {
    "on articles": (ARTICLES, CORRECTED),
    "at equal distance": (ARTICLES, AT_EQUAL_DISTANCE),
    "in inputs": ("inputs, words of one article", CORRECTED),
    "across": ("inputs, words across articles", CORRECTED),
}
OVERLAYS = REPOSITORY / "config"
MOST_SHARE = "most_topic_information"  # what tables of other_seeds have for most families
LEARNED, SHARE, VALUES = "learned", "share", "values"
SIDES = ("above", "undecided", "below")
OPENING = """\
Every small model of the reference run, and of the [runs kept beside it](findings.md), whose
attention was measured after inputs of a kind. *Attention* to words of one topic, as a multiple of
attention to words of permuted topics that are as frequent: on articles; on articles between words
equally far apart; in inputs as the model was trained on, between words of one article (or topic) of
an input, and across those of one input. *Learned*: nats a word by which hidden words are predicted
better than by their frequencies, or the share of what topics tell of them, at the snapshot at which
this is surest. It says whether a model has learned, and compares within one run at most, as runs
read inputs of different lengths for it. *Values*: the gap of value circuits, in standard
deviations. Means over trainings with 95% intervals, each for itself; bold where they leave out
chance."""


def trained(reference: Path) -> pd.DataFrame:
    """All trainings that are kept, a row for each kind of model in each run.

    Args:
        reference: the reference run, with others beside it. The settings of each are the overlay of
            its name, over those of the reference run; a run without one is left out.

    Returns:
        `run` (empty: the reference run), `model`, `family`, `kind` (family, and what is unusual),
        `order` and `articles` of an input, `tokens` and `batch` (tokens), `longest` (tokens of an
        input), `training` (its settings, as JSON), `runs`, `seeds`; then rows of the kept tables,
        or nothing where there are none: `learned` (nats), `share` (of what topics tell), each of
        `ATTENTION`, `values`. What two runs kept of the same trainings is there once.
    """
    found: dict[tuple, dict] = {}
    for run in ["", *sorted(path.name for path in (reference / "beside").glob("*"))]:
        tables = reference / "beside" / run / "tables" if run else reference / "tables"
        overlays = [OVERLAYS / f"{name}.yaml" for name in dict.fromkeys(["reference", run]) if name]
        if not all(path.is_file() for path in (tables / f"{TABLE}.csv", *overlays)):
            continue
        settings = with_overlays(overlays)
        circuits = tables / f"{CIRCUITS}.csv"
        rows = read_csv(tables / f"{TABLE}.csv")
        gaps = read_csv(circuits) if circuits.is_file() else rows.assign(reading="").iloc[:0]
        for row in _of_run(rows, gaps, settings):
            same = tuple(row[of] for of in ("order", "articles", "training", "seeds"))
            found.setdefault(same, {"run": run} | row)
    return pd.DataFrame(found.values())


def _of_run(table: pd.DataFrame, circuits: pd.DataFrame, settings: Settings) -> Iterator[dict]:
    usual = default_settings().pretraining.objective.predicted_share
    gaps = circuits[(circuits["quantity"] == GAP) & (circuits["reading"] == FIRST)]
    for name, rows in table.groupby("model", sort=False):
        model = settings.models[name]
        training = settings.pretraining.of(model.family, 0, model)
        asked = training.objective.predicted_share
        means = rows[rows[SEED] == ALL].set_index(["probed", "quantity"])
        shown = {LEARNED: (ARTICLES, MOST), SHARE: (ARTICLES, MOST_SHARE), **ATTENTION}
        gap = gaps[(gaps["model"] == name) & (gaps[SEED] == ALL)]
        yield {
            "model": name,
            "family": model.family,
            "kind": kind_of(model) + (f", {asked:.0%} of words asked" if asked != usual else ""),
            "order": rows["order"].iloc[0],
            "articles": int(rows["articles"].iloc[0]),
            "tokens": training.tokens,
            "batch": training.batch_tokens,
            "longest": training.size.longest,
            "training": training.model_dump_json(),
            "runs": int(means.loc[(ARTICLES, CORRECTED), "runs"]),
            "seeds": tuple(rows.loc[rows[SEED] != ALL, SEED].unique()),
            **{of: means.loc[key].to_dict() if key in means.index else None
               for of, key in shown.items()},
            VALUES: gap.iloc[0].to_dict() if len(gap) else None,
        }  # fmt: skip


def side(row: dict, null: float) -> str:
    """On which side of its null an interval lies."""
    return "above" if row["low"] > null else "below" if row["high"] < null else "undecided"


def has_learned(row: pd.Series) -> bool:
    """Whether a kind of model is shown to predict hidden words better than frequencies do."""
    return any(row[of] is not None and row[of]["low"] > 0 for of in (LEARNED, SHARE))


def sides(rows: pd.DataFrame) -> pd.DataFrame:
    """How many kinds of models attend to topics on articles, by family and by their inputs.

    Args:
        rows: as `trained` gives them. Kinds with one training alone are left out.

    Returns:
        `family`, `words of an input`, and how many lie on which of `SIDES`, of those that are shown
        to have learned; then how many are not.
    """
    several = _in_order(rows[rows["runs"] > 1], ["family", "order"])
    lines = []
    for (family, order), alike in several.groupby(["family", "order"], sort=False):
        learned = alike.apply(has_learned, axis=1)
        came = alike.loc[learned, "on articles"].map(lambda row: side(row, 1)).value_counts()
        lines.append(
            {"family": family, "words of an input": ORDERS[order]}
            | {of: int(came.get(of, 0)) for of in SIDES}
            | {"not shown to have learned": int((~learned).sum())}
        )
    return pd.DataFrame(lines)


def page(rows: pd.DataFrame) -> str:
    """All of `trained` as a page, by what the inputs are."""
    text = [f"# {TITLE}", "", OPENING, ""]
    for order, words in ORDERS.items():
        alike = rows[rows["order"] == order]
        text += [f"## {words.capitalize()}", "", markdown_table(_shown(alike)), ""]
    return "\n".join(text)


def _shown(rows: pd.DataFrame) -> pd.DataFrame:
    lines = []
    for _, row in _in_order(rows, ["articles", "family", "tokens"]).iterrows():
        cells = {
            "articles": row["articles"],
            "model": row["kind"],
            "tokens": tokens_shown(row["tokens"]),
            "a batch": f"{row['batch']:,}",
            "longest input": row["longest"],
            "trainings": row["runs"],
            LEARNED: _cell(row[LEARNED], 0) if row[LEARNED] else _share(row[SHARE]),
        }
        cells |= {f"attention {of}": _cell(row[of], 1) for of in ATTENTION}
        null = row[VALUES]["reference"] if row[VALUES] else 0
        lines.append(cells | {VALUES: _cell(row[VALUES], null), "run": row["run"] or "reference"})
    return pd.DataFrame(lines)


def _in_order(rows: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Rows sorted, families and kinds of inputs as they stand everywhere."""
    ranks = {"family": [*get_args(FamilyName)], "order": [*ORDERS]}
    return rows.sort_values(
        by, key=lambda of: of.map(ranks[of.name].index) if of.name in ranks else of, kind="stable"
    )


def _share(row: dict | None) -> str:
    return _cell(row, 0) if row is None else f"{_cell(row, 0)} of what topics tell"


def _cell(row: dict | None, null: float) -> str:
    text = interval_of(row)
    return text if row is None or side(row, null) == "undecided" else f"**{text}**"
