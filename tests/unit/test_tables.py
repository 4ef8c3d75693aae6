"""The one format of tables."""

from math import nan

import pandas as pd
import pytest

from onelayer.evidence.tables import VALUE_COLUMNS, by_row, interval, number, read, tidy, write

ROWS = [
    {"model": "a_b & 50%", "quantity": "null", "value": 1 / 3, "low": 0.3, "high": 0.34, "n": 7},
    {"model": "c | <b>", "quantity": "r", "state": "not reached"},
]


@pytest.fixture
def written(tmp_path):
    paths = {kind: tmp_path / f"t.{kind}" for kind in ("csv", "md", "tex")}
    write(tidy(ROWS, ["model"]), **paths, title="A & B", notes=["x ≈ 1"])
    return {kind: path.read_text(encoding="utf-8") for kind, path in paths.items()}


def test_a_csv_has_keys_and_value_columns_and_reads_back(written, tmp_path):
    assert written["csv"].splitlines()[0].split(",") == ["model", *VALUE_COLUMNS]
    back = read(tmp_path / "t.csv")
    assert back["quantity"].tolist() == ["null", "r"]  # a word, not a missing value
    assert back["state"].tolist() == ["", "not reached"]
    assert back["value"][0] == pytest.approx(1 / 3, rel=1e-8)
    pd.testing.assert_series_equal(back["n"], pd.Series([7, nan], name="n"))


def test_markup_in_a_text_stays_text(written):
    assert r"c \| &lt;b>" in written["md"]
    assert r"a\_b \& 50\%" in written["tex"]
    assert r"\caption{A \& B}" in written["tex"]
    assert r"x $\approx$ 1" in written["tex"]


def test_readers_see_the_number_with_its_interval(written):
    assert "0.3333 [0.3, 0.34]" in written["md"]
    assert "0.3333 [0.3, 0.34]" in written["tex"]
    assert interval(nan, nan, nan) == number(nan) == "–"
    assert interval(-0.001, nan, nan) == "0.00"


def test_readers_see_every_row_under_its_quantity():
    row = {"T": 10.0, "quantity": "ratio", "value": 1.23456, "low": 1.2, "high": 1.3, "n": 5}
    shown = by_row(tidy([row | {"published": 1.0}, row | {"low": nan}], ["T"]))
    assert shown["value [95%]"].tolist() == ["1.235 [1.2, 1.3]", "1.235"]
    assert shown[["T", "published"]].to_numpy().tolist() == [["10", "1"], ["10", "–"]]


def test_the_nulls_range_stands_beside_the_null_where_a_row_has_one():
    table = tidy([{"L": 1, "null": 1.0, "null_low": 0.9, "null_high": 1.1}, {"L": 2}], ["L"])
    assert list(table) == ["L", *VALUE_COLUMNS, "null_low", "null_high"]
    assert table["null_high"].tolist()[0] == 1.1 and table["null_high"].isna()[1]


def test_a_table_without_rows_has_its_columns():
    assert list(tidy([], ["L"])) == ["L", *VALUE_COLUMNS]


def test_an_unknown_column_is_refused():
    with pytest.raises(ValueError, match="verdict"):
        tidy([{"L": 1, "verdict": "larger"}], ["L"])
