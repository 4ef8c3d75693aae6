"""Claims about the table of calibration: what is counted as false, and what is judged."""

import math

import numpy as np
import pandas as pd
import pytest
import yaml

from onelayer.calibration import simulation, table
from onelayer.calibration.figure import figure_calibration
from onelayer.evidence.tables import read_csv, reported
from onelayer.run.provenance import REPOSITORY
from onelayer.settings.models import HubModel, RandomModel
from onelayer.settings.root import default_settings, load_settings
from onelayer.settings.topic_structure import NamedModel

HUB = HubModel(
    source="hub",
    hub={"repository": "google-bert/bert-base-uncased", "revision": "0" * 40},
    published_as="bert",
)
OTHER = RandomModel(source="random", like="bert", published_as=None)
# Which has an attention ratio of 1.32 for BERT at .0005.
PUBLISHED = REPOSITORY / "workflow/reference/topic_structure_wikipedia.csv"
AMBIGUITY = default_settings().topics.ambiguity.but(thresholds=[{"count": 20, "beside": 0.0005}])
COVERAGE = pd.DataFrame(
    [
        (simulation.MEAN, "normal", 3, math.nan, math.nan, math.nan, 950, 1000),
        (simulation.MEAN, "skewed", 3, math.nan, math.nan, math.nan, 890, 1000),
        (simulation.PLAIN, "skewed", math.nan, 30, math.nan, math.nan, 890, 1000),
        (simulation.OVER_SEEDS, "normal", 3, 30, 1, math.nan, 990, 1000),
        (simulation.DOCUMENTS, "normal", math.nan, 30, math.nan, math.nan, 48, 50),
        (simulation.SHARE, "", 3, math.nan, math.nan, 0.5, 1.0, 1),
    ],
    columns=["case", "shape", "seeds", "documents", "spread", "share", "covered", "trials"],
)
EFFECTS = pd.DataFrame(
    [
        ("normal", 3, 30, 0.15, 0.0, "undecided", 980),
        ("normal", 3, 30, 0.15, 0.0, "smaller", 20),
        ("skewed", 3, 30, 0.15, 0.0, "undecided", 900),
        ("skewed", 3, 30, 0.15, 0.0, "opposite", 100),
        ("normal", 3, 30, 0.15, 0.3, "reproduced", 600),
        ("normal", 3, 30, 0.15, 0.3, "smaller", 400),
    ],
    columns=["shape", "seeds", "documents", "half_width", "true_effect", "verdict", "count"],
)


def probed(draws: list[tuple[float, float]]) -> pd.DataFrame:
    """Rows of a probe: the topics themselves, and draws (ratio, half width over articles).

    The null of all is 1 [.98, 1.02].
    """
    rows = []
    for text, seed, permuted, (value, half) in [
        ("as they are", "all", False, (1.3, 0.05)),
        ("shuffled", "all", False, (1.15, 0.05)),
        *(("as they are", str(place), True, draw) for place, draw in enumerate(draws)),
    ]:
        common = {"seed": seed, "permuted": permuted, "text": text, "runs": 1, "n": 50}
        common |= {"shuffled": text == "shuffled"}
        common |= {"overlap": "disjoint", "threshold": "top 20"}
        for quantity, centre, around in (
            ("attention_ratio", value, half),
            ("attention_ratio_null", 1.0, 0.02),
            ("attention_ratio_null_corrected", value, half),
        ):
            numbers = {"value": centre, "low": centre - around, "high": centre + around}
            rows.append(common | numbers | {"quantity": quantity})
    return pd.DataFrame(rows)


def assembled(draws: list[tuple[float, float]], model=HUB) -> pd.DataFrame:
    models = [NamedModel(name="bert", settings=model)]
    return table.calibration([probed(draws)], PUBLISHED, COVERAGE, EFFECTS, models, AMBIGUITY)


def chosen(rows: pd.DataFrame, quantity: str, **keys: object) -> pd.Series:
    rows = rows[rows["quantity"] == quantity]
    for name, value in keys.items():
        rows = rows[rows[name] == value]
    (row,) = (row for _, row in rows.iterrows())
    return row


@pytest.mark.parametrize(
    ("effect", "false"),
    [
        (0, {"reproduced", "smaller", "larger", "opposite"}),
        (0.05, {"reproduced", "larger", "opposite"}),
        (0.3, {"reproduced", "larger", "opposite", "negligible"}),
        (1, {"smaller", "larger", "opposite", "negligible"}),
        (1.5, {"reproduced", "smaller", "opposite", "negligible"}),
        (-0.5, {"reproduced", "smaller", "larger", "negligible"}),
    ],
)
def test_a_verdict_is_false_where_what_it_says_is_not_so(effect, false) -> None:
    assert {verdict for verdict in table.SAID if table.is_false(verdict, effect)} == false


def test_permuted_topics_are_judged_beside_their_null_and_counted() -> None:
    """Of .32 published, with the null's spread of .02: judged as the Wikipedia tables are."""
    draws = [(1.0, 0.01), (1.0, 0.2), (1.3, 0.05), (1.1, 0.02), (0.8, 0.05), (1.01, 0.1)]
    rows = assembled(draws)
    rows = rows[rows["what"] == table.PERMUTED].set_index("quantity")
    counts = {"negligible": 1, "undecided": 2, "reproduced": 1, "smaller": 1, "opposite": 1}
    for verdict in table.SAID:
        assert rows.loc[f"share_{verdict}", "value"] == pytest.approx(counts.get(verdict, 0) / 6)
    false = rows.loc[table.FALSE]
    assert (false["value"], false["n"], false["runs"]) == (0.5, 6, 6)
    assert (false["published"], false["kind"], false["verdict"]) == (0.05, "bound", "opposite")
    # The articles' own intervals know nothing of the null.
    assert rows.loc[table.ARTICLES_ALONE, "value"] == pytest.approx(3 / 6)
    assert (rows.drop(table.FALSE)["verdict"] == "").all()


def test_texts_stand_beside_the_published_effect_and_shuffled_ones_are_no_text_of_the_paper() -> (
    None
):
    rows = assembled([(1.0, 0.01)])
    plain, shuffled = (
        chosen(rows, "attention_ratio", what=table.TEXTS, text=text)
        for text in ("as they are", "shuffled")
    )
    assert (shuffled["kind"], shuffled["verdict"]) == ("analogue", "smaller")
    assert (shuffled["reference"], shuffled["published"]) == (1.0, 1.32)
    # The Wikipedia tables have the verdict of these.
    assert (plain["kind"], plain["verdict"]) == ("", "")
    assert shuffled["runs"] == 1
    assert math.isnan(plain["runs"])
    assert plain["effect_low"] == pytest.approx((0.3 - math.hypot(0.05, 0.02)) / 0.32)


def test_a_model_beside_which_nothing_was_published_only_describes() -> None:
    rows = assembled([(1.0, 0.01)], OTHER)
    assert table.PERMUTED not in set(rows["what"])
    texts = rows[rows["what"] == table.TEXTS]
    assert len(texts) == 4
    assert (texts[["kind", "verdict"]] == "").all(axis=None)


def test_coverage_is_judged_by_the_band_that_is_asked_for() -> None:
    rows = assembled([(1.0, 0.01)])
    rows = rows[rows["what"] == table.COVERAGE]
    verdicts = rows[["case", "shape", "verdict"]].itertuples(index=False, name=None)
    assert list(verdicts) == [
        (simulation.MEAN, "normal", "reproduced"),
        (simulation.MEAN, "skewed", "smaller"),
        (simulation.PLAIN, "skewed", ""),
        (simulation.OVER_SEEDS, "normal", "larger"),
        (simulation.DOCUMENTS, "normal", "undecided"),
        (simulation.SHARE, "", "larger"),
    ]
    assert set(rows["kind"]) == {"theory", ""}
    assert chosen(rows, "coverage", case=simulation.SHARE)["truth"] == 0.5


def test_false_verdicts_are_judged_where_the_effect_is_none_or_the_published_one() -> None:
    rows = assembled([(1.0, 0.01)])
    rows = rows[rows["what"] == table.EFFECTS]
    assert chosen(rows, table.FALSE, shape="normal", truth=0.0)["verdict"] == "reproduced"
    assert chosen(rows, table.FALSE, shape="skewed", truth=0.0)["verdict"] == "opposite"
    described = chosen(rows, table.FALSE, shape="normal", truth=0.3)
    assert (described["value"], described["verdict"]) == (0.6, "")
    assert chosen(rows, "share_larger", shape="normal", truth=0.3)["value"] == 0


def test_every_row_has_its_own_keys() -> None:
    rows = assembled([(1.0, 0.01), (1.1, 0.2)])
    assert not rows.duplicated([*table.KEYS, "quantity"]).any()


def test_readers_see_a_row_for_each_case_with_all_its_verdicts(tmp_path) -> None:
    made = assembled([(1.0, 0.01), (1.0, 0.2)])
    report = reported(made, **table.calibration.shown)
    shown = report.shown.set_index(["what", "data"])
    assert len(shown) == 2 + 1 + len(COVERAGE) + 3
    permuted = shown.loc[(table.PERMUTED, "as they are")]
    assert permuted["how often each verdict"].startswith("negligible 50.0%, undecided 50.0%")
    assert permuted["value [95%]"].startswith("0.000 [0.000, ")
    assert shown.loc[(table.TEXTS, "shuffled"), "verdict"] == "smaller (47% of the effect)"
    report.write(*(tmp_path / f"calibration.{form}" for form in ("csv", "md", "tex", "html")))
    assert len(read_csv(tmp_path / "calibration.csv")) == len(report.table)


def test_the_figure_has_a_bar_for_each_case_and_every_bar_is_whole() -> None:
    figure = figure_calibration(assembled([(1.0, 0.01), (1.0, 0.2)]))
    simulated, permuted = figure.axes
    assert [label.get_text() for label in simulated.get_yticklabels()] == [
        "effect 0, ± 0.15",
        "effect 0.3, ± 0.15",
    ]
    assert [label.get_text() for label in permuted.get_yticklabels()] == ["bert"]
    for axis, bars in ((simulated, 2), (permuted, 1)):
        widths = np.zeros(bars)
        for patch in axis.patches:
            widths[round(patch.get_y() + patch.get_height() / 2)] += patch.get_width()
        np.testing.assert_allclose(widths, 1)


@pytest.mark.parametrize(
    ("shown", "calibrated"),
    [
        (["minilm", "bert-here", "bart-here", "random"], ["minilm", "bert-here"]),
        (["random", "minilm"], ["minilm"]),
        (["random", "bart-here"], ["bart-here"]),
        (["random", "random-bert"], ["random"]),
    ],
)
def test_models_that_the_tables_show_are_calibrated(shown, calibrated) -> None:
    changed = yaml.safe_load((REPOSITORY / "config.yaml").read_text(encoding="utf-8"))
    changed["topic_structure"]["wikipedia"]["models"] = shown
    assert load_settings(changed).calibrated_models() == calibrated
