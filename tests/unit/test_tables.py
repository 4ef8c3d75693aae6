"""Claims about the one verdict rule and the forms in which tables are written."""

import math

import pandas as pd
import pytest

from onelayer.errors import OnelayerError
from onelayer.index import first_sentence
from onelayer.tables import (
    VALUE_COLUMNS,
    bound_verdict,
    interval,
    judge,
    read_csv,
    tidy,
    verdict,
    write_table,
)

NAN = math.nan


@pytest.mark.parametrize(
    ("ours", "published", "std", "expected"),
    [
        ((1.30, 1.25, 1.35), 1.32, NAN, "within"),
        ((1.50, 1.46, 1.54), 1.32, NAN, "direction"),
        ((1.50, 0.90, 2.00), 2.50, NAN, "differs"),  # our interval does not exclude 1
        ((0.90, 0.85, 0.95), 1.32, NAN, "differs"),
        ((1.50, 1.46, 1.54), 1.32, 0.08, "within"),  # two published standard deviations
        ((1.002, 1.001, 1.003), 0.999, NAN, "direction"),  # neither sees an effect
        ((1.02, 1.01, 1.03), 0.999, NAN, "differs"),
        ((1.30, NAN, NAN), 1.30, NAN, "within"),
        ((1.30, NAN, NAN), 1.31, NAN, "direction"),
        ((1.30, 1.2, 1.4), NAN, NAN, ""),
        ((NAN, NAN, NAN), 1.32, NAN, "not run"),
    ],
)
def test_verdict(ours, published, std, expected) -> None:
    assert verdict(*ours, published, std) == expected


def test_a_difference_is_judged_against_zero() -> None:
    assert verdict(0.13, 0.10, 0.16, 0.05, reference=0.0) == "direction"
    assert verdict(-0.13, -0.16, -0.10, 0.05, reference=0.0) == "differs"


def table() -> pd.DataFrame:
    rows = [
        {"model": "a_b & 50%", "quantity": "r", "value": 1 / 3, "low": 0.3, "high": 0.4, "n": 7,
         "published": 0.35},
        {"model": "c", "quantity": "r", "published": 2.0, "note": "no hub"},
    ]  # fmt: skip
    return judge(tidy(rows, ["model"]))


def write(tmp_path):
    paths = {kind: tmp_path / f"t.{kind}" for kind in ("csv", "md", "tex", "html")}
    shown = pd.DataFrame({"model": ["a_b & 50%"], "ratio": [interval(1 / 3, 0.3, 0.4)]})
    write_table(table(), shown, "A & B", ["x ≈ 1, <b>"], **paths)
    return {kind: path.read_text(encoding="utf-8") for kind, path in paths.items()}


def test_a_csv_has_the_house_columns_and_reads_back(tmp_path) -> None:
    written = write(tmp_path)
    assert written["csv"].splitlines()[0].split(",") == ["model", *VALUE_COLUMNS]
    back = read_csv(tmp_path / "t.csv")
    assert back["verdict"].tolist() == ["within", "not run"]
    assert back["note"].tolist() == ["", "no hub"]
    assert back["value"][0] == pytest.approx(1 / 3, rel=1e-8)


def test_every_form_holds_the_numbers_and_escapes_the_text(tmp_path) -> None:
    written = write(tmp_path)
    for kind in ("md", "tex", "html"):
        assert "0.33 [0.30, 0.40]" in written[kind]
    assert r"a\_b \& 50\%" in written["tex"]
    assert r"\caption{A \& B}" in written["tex"]
    assert r"$\approx$" in written["tex"]
    assert "x ≈ 1, &lt;b&gt;" in written["html"]
    assert "http" not in written["html"]


def test_latex_braces_and_environments_match(tmp_path) -> None:
    tex = write(tmp_path)["tex"].replace(r"\&", "").replace(r"\%", "").replace(r"\_", "")
    assert tex.count("{") == tex.count("}")
    for name in ("table", "tabular"):
        assert tex.count(f"\\begin{{{name}}}") == tex.count(f"\\end{{{name}}}") == 1


def test_unknown_columns_are_refused() -> None:
    with pytest.raises(ValueError, match="colour"):
        tidy([{"model": "a", "colour": "red"}], ["model"])


def test_a_foreign_csv_is_refused(tmp_path) -> None:
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    with pytest.raises(OnelayerError, match=r"x\.csv: no column quantity"):
        read_csv(tmp_path / "x.csv")


def test_the_line_in_the_index_is_the_first_sentence_of_the_caption() -> None:
    assert first_sentence("Ours beside\ntheirs, ``x``. More here.") == "Ours beside theirs, `x`."


@pytest.mark.parametrize(
    ("value", "bound", "expected"),
    [(1.0, 2.0, "within"), (2.0, 2.0, "within"), (3.0, 2.0, "differs"), (NAN, 2.0, "not run")],
)
def test_a_bound_holds_from_above_only(value, bound, expected):
    assert bound_verdict(value, bound) == expected
    assert bound_verdict(1.0, NAN) == ""
