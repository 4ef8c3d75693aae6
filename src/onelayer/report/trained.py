"""Every small model trained on text, of all kept runs: what it learned, and where attention goes.

Runs are kept for one question each. Here their trainings stand together, so that what no one run
shows can be looked for: after which inputs attention follows topics, and after how much learning.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import get_args

import pandas as pd

from onelayer.evidence.tables import ALL, EMPTY, interval_of, markdown_table, read_csv
from onelayer.evidence.verdicts import NEGLIGIBLE, REPRODUCED, UNDECIDED
from onelayer.papers.topic_structure.wikipedia.over_seeds import SEED
from onelayer.papers.topic_structure.wikipedia.over_tokens import tokens_shown
from onelayer.papers.topic_structure.wikipedia.probe.value_circuit import FIRST, GAP
from onelayer.papers.topic_structure.wikipedia.topics_per_input import (
    ARTICLES,
    CORRECTED,
    MOST,
    ORDERS,
    RATIO,
    kind_of,
)
from onelayer.run.provenance import REPOSITORY
from onelayer.settings.pretraining import FamilyName
from onelayer.settings.root import Settings, default_settings, with_overlays

TITLE = "Small models trained on text, and whether their attention follows topics"
PICTURE = "figures/topic_structure/small_models.png"
TABLE, CIRCUITS = "topic_structure/topics_per_input", "topic_structure/value_circuit"
# Attention within topics over permuted topics, by column: on what, and at what distance.
ON_ARTICLES = "on articles"
ATTENTION = {
    ON_ARTICLES: (ARTICLES, RATIO),
    "at equal distance": (ARTICLES, f"{RATIO}_distance_standardised"),
    "in its inputs": ("inputs, words of one article", RATIO),
    "across them": ("inputs, words across articles", RATIO),
}
ONE_BY_ONE = "as it is"  # an article, whether whole or cut anew each time
OVERLAYS = REPOSITORY / "config"
MOST_SHARE = "most_topic_information"  # what tables of other_seeds have for most families
LEARNED, SHARE, VALUES = "learned", "share", "values"
SIDES = {REPRODUCED: "above", NEGLIGIBLE: "near", UNDECIDED: "undecided", "opposite": "below"}
SEEN = (
    "Attention within topics on articles over its null, against tokens read, by family and inputs"
)
OPENING = """\
Small models of the reference run, and of the [runs kept beside it](findings.md), whose attention
was measured after inputs of a kind; not the reference run's [five families](claims.md) on articles,
and not those of [thirty million tokens](../attention_on_text.md#thirty-million-tokens).

- *Attention* to words of one topic, as a multiple of attention to words of permuted topics that are
  as frequent: on articles; on articles between words equally far apart, which is not judged; in
  inputs as the model was trained on, between words of one article (or topic) of an input, and
  across those of one input.
- *Learned*: nats a word by which hidden words are predicted better than by their frequencies, or
  the share of what topics tell of them, at the snapshot at which this is surest. It says only
  whether a model has learned, at some snapshot; rows should not be compared, as they read different
  inputs.
- *Values*: the gap of value circuits, in standard deviations.

Means over trainings with 95% intervals, each for itself. Bold: decided, by
[the rule](../tables.md#the-rule) of the claims, which adds the spread of permuted topics that the
intervals of attention shown here leave out. A kind that was trained again with other seeds stands
here again."""


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
        `ATTENTION` (over its null, with the verdict on the ratio), `values`. Models of articles one
        by one have no inputs of their own, and were probed on another model's. What two runs kept
        of the same trainings is there once.
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
    rows = pd.DataFrame(found.values())
    return rows.astype(object).where(rows.notna(), None)


def _of_run(table: pd.DataFrame, circuits: pd.DataFrame, settings: Settings) -> Iterator[dict]:
    usual = default_settings().pretraining.objective.predicted_share
    gaps = circuits[(circuits["quantity"] == GAP) & (circuits["reading"] == FIRST)]
    for name, rows in table.groupby("model", sort=False):
        model = settings.models[name]
        training = settings.pretraining.of(model.family, 0, model)
        asked = training.objective.predicted_share
        means = rows[rows[SEED] == ALL].to_dict("records")
        by = {(row["probed"], row["quantity"]): row for row in means}
        order, articles = rows["order"].iloc[0], int(rows["articles"].iloc[0])
        order = ONE_BY_ONE if articles == 1 and order == "pieces" else order
        gap = gaps[(gaps["model"] == name) & (gaps[SEED] == ALL)]
        yield {
            "model": name,
            "family": model.family,
            "kind": kind_of(model) + (f", {asked:.0%} of words asked" if asked != usual else ""),
            "order": order,
            "articles": articles,
            "tokens": training.tokens,
            "batch": training.batch_tokens,
            "longest": training.size.longest,
            "training": training.model_dump_json(),
            "runs": int(by[ARTICLES, CORRECTED]["runs"]),
            "seeds": tuple(rows.loc[rows[SEED] != ALL, SEED].unique()),
            LEARNED: by.get((ARTICLES, MOST)),
            SHARE: by.get((ARTICLES, MOST_SHARE)),
            **{
                of: _over_its_null(by, probed, ratio)
                for of, (probed, ratio) in ATTENTION.items()
                if probed == ARTICLES or order != ONE_BY_ONE
            },
            VALUES: gap.iloc[0].to_dict() if len(gap) else None,
        }


def _over_its_null(by: Mapping[tuple[str, str], dict], probed: str, ratio: str) -> dict | None:
    """A ratio over its null, with the verdict on the ratio itself."""
    over = by.get((probed, f"{ratio}_null_corrected"))
    return over and over | {"verdict": by[probed, ratio]["verdict"]}


def has_learned(row: pd.Series) -> bool | None:
    """Whether a kind of model is shown to predict hidden words better than frequencies do.

    None where that was not measured.
    """
    measured = [row[of]["low"] > 0 for of in (LEARNED, SHARE) if row[of] is not None]
    return any(measured) if measured else None


def sides(rows: pd.DataFrame) -> pd.DataFrame:
    """How many kinds of models attend to topics on articles, by family and by their inputs.

    Args:
        rows: as `trained` gives them. Kinds with one training alone are left out.

    Returns:
        `family`, `words of an input`, and how many are on which of `SIDES`, of those that are shown
        to have learned; then how many are not shown to, and of how many that was not measured.
    """
    lines = []
    several = in_order(rows[rows["runs"] > 1], ["family", "order"])
    for (family, order), alike in several.groupby(["family", "order"], sort=False):
        learned = [has_learned(row) for _, row in alike.iterrows()]
        came = [row["verdict"] for row in alike.loc[map(bool, learned), ON_ARTICLES]]
        lines.append(
            {"family": family, "words of an input": ORDERS[order]}
            | {of: came.count(verdict) for verdict, of in SIDES.items()}
            | {"not shown to have learned": learned.count(False)}
            | {"not measured": learned.count(None)}
        )
    return pd.DataFrame(lines)


def page(rows: pd.DataFrame) -> str:
    """All of `trained` as a page, by what the inputs are."""
    text = [f"# {TITLE}", "", OPENING, "", f"![{SEEN}]({PICTURE})", ""]
    for order, words in ORDERS.items():
        alike = rows[rows["order"] == order]
        text += [f"## {words.capitalize()}", "", markdown_table(_shown(alike)), ""]
    return "\n".join(text)


def _shown(rows: pd.DataFrame) -> pd.DataFrame:
    lines = []
    for _, row in in_order(rows, ["articles", "family", "tokens"]).iterrows():
        cells = {
            "articles": row["articles"],
            "model": row["kind"],
            "tokens": tokens_shown(row["tokens"]),
            "a batch": f"{row['batch']:,}",
            "longest input": row["longest"],
            "trainings": row["runs"],
            LEARNED: _learned(row),
        }
        cells |= {f"attention {of}": _cell(row[of]) for of in ATTENTION}
        lines.append(cells | {VALUES: _cell(row[VALUES]), "run": row["run"] or "reference"})
    shown = pd.DataFrame(lines)
    return shown.loc[:, (shown != EMPTY).any()]


def in_order(rows: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Rows sorted, families and kinds of inputs as they stand everywhere."""
    ranks = {"family": [*get_args(FamilyName)], "order": [*ORDERS]}
    return rows.sort_values(
        by, key=lambda of: of.map(ranks[of.name].index) if of.name in ranks else of, kind="stable"
    )


def _learned(row: pd.Series) -> str:
    text, unit = interval_of(row[LEARNED]), ""
    if row[LEARNED] is None and row[SHARE] is not None:
        text, unit = interval_of(row[SHARE]), " of what topics tell"
    return (f"**{text}**" if has_learned(row) else text) + unit


def _cell(row: dict | None) -> str:
    decided = row is not None and SIDES.get(row["verdict"]) in ("above", "below")
    return f"**{interval_of(row)}**" if decided else interval_of(row)
