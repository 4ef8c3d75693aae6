"""Claims about the forms in which tables are written."""

import re

import numpy as np
import pandas as pd
import pytest

from onelayer.errors import OnelayerError
from onelayer.evidence.pages import SHARES, Link, table_page
from onelayer.evidence.tables import (
    VALUE_COLUMNS,
    Report,
    interval,
    interval_of,
    read_csv,
    reported,
    row_per,
    tidy,
)
from onelayer.evidence.verdicts import VERDICTS, Number, judge


def table() -> pd.DataFrame:
    rows = [
        {"model": "a_b & 50%", "quantity": "r", "value": 1 / 3, "low": 0.3, "high": 0.34, "n": 7,
         "published": 0.35},
        {"model": "c", "quantity": "r", "published": 2.0, "note": "no hub"},
    ]  # fmt: skip
    return judge(tidy(rows, ["model"]), Number(0.0))


def write(tmp_path):
    paths = {kind: tmp_path / f"t.{kind}" for kind in ("csv", "md", "tex", "html")}
    shown = pd.DataFrame({"model": ["a_b & 50%"], "ratio": [interval(1 / 3, 0.3, 0.4)]})
    Report(table(), shown, "A & B", ["x ≈ 1, <b>"]).write(**paths)
    return {kind: path.read_text(encoding="utf-8") for kind, path in paths.items()}


def test_a_csv_has_the_house_columns_and_reads_back(tmp_path) -> None:
    written = write(tmp_path)
    assert written["csv"].splitlines()[0].split(",") == ["model", *VALUE_COLUMNS]
    back = read_csv(tmp_path / "t.csv")
    assert back["verdict"].tolist() == ["smaller", "not run"]
    assert back["kind"].tolist() == ["published", "published"]
    assert back["effect_share"][0] == pytest.approx((1 / 3) / 0.35)
    assert back["effect_low"][0] == pytest.approx(0.3 / 0.35)
    assert back["reference"].tolist()[0] == 0 and back["effect"].tolist()[0] == 0.35
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


def test_in_a_page_the_verdict_comes_first_and_says_its_word_beside_its_colour() -> None:
    columns = ["x", "verdicts (a, b)", "verdict", "verdicts that change"]
    row = ["1 < 2; paper 1: larger", "opposite (-3% of the effect), not reached", "–", "0 of 3"]
    page = table_page(pd.DataFrame([row], columns=columns), "T", ["n"])
    cells = re.findall(r"<td>(.*?)</td>", page)
    texts = [re.sub(r"<.*?>", "", cell) for cell in cells]
    assert texts == [
        "a ✕ opposite (-3%)b ◌ not reached",
        "–",
        "1 &lt; 2; paper 1: ↑ larger",
        "0 of 3",
    ]
    assert [re.findall(r'"verdict ([a-z-]+)"', cell) for cell in cells] == [
        ["opposite", "not-reached"], [], ["larger"], []
    ]  # fmt: skip
    assert VERDICTS["opposite"] in cells[0]
    assert SHARES.split(":")[0] in page
    assert SHARES.split(":")[0] not in table_page(pd.DataFrame({"x": [1]}), "T", [])


def test_a_verdict_stands_out_with_its_share() -> None:
    said = ["undecided (at most 15% of the effect)", "smaller (31% of the effect)", "negligible"]
    page = table_page(pd.DataFrame({"verdict": said}), "T", [])
    texts = [re.sub(r"<.*?>", "", cell) for cell in re.findall(r"<td>(.*?)</td>", page)]
    assert texts == ["? undecided (at most 15%)", "↓ smaller (31%)", "○ negligible"]


def test_a_link_leads_from_each_form_to_its_like_and_is_text_in_latex(tmp_path) -> None:
    shown = pd.DataFrame({"model": ["m"], "table": [Link("a|b <i>", "../p/t")]})
    forms = {form: tmp_path / f"t.{form}" for form in ("csv", "md", "tex", "html")}
    Report(table(), shown, "T", []).write(**forms)
    written = {form: path.read_text(encoding="utf-8") for form, path in forms.items()}
    assert r"[a\|b &lt;i>](../p/t.md)" in written["md"]
    assert '<a href="../p/t.html">a|b &lt;i&gt;</a>' in written["html"]
    assert "a|b <i>" in written["tex"] and "../p/t" not in written["tex"]


def test_every_verdict_has_a_sign_and_a_colour_of_its_own() -> None:
    page = table_page(pd.DataFrame({"verdict": list(VERDICTS)}), "T", [])
    signs = re.findall(r'"verdict [a-z-]+">(.) ', page)
    colours = re.findall(r"\.onelayer \.([a-z-]+) { background: (#\w+)", page)
    assert len(set(signs)) == len(signs) == len(VERDICTS)
    assert {name.replace("-", " ") for name, _ in colours} == set(VERDICTS)
    assert len({colour for _, colour in colours}) == len(VERDICTS)


def test_a_table_that_says_no_more_has_a_row_for_each_row():
    rows = [{"L": 8, "quantity": "time", "value": 1.5, "low": 1.0, "high": 2.0},
            {"L": 16, "quantity": "time", "value": 3.0}]  # fmt: skip
    shown = reported(tidy(rows, ["L"]), "T", (), None).shown
    assert shown.to_dict("list") == {
        "L": ["8", "16"], "quantity": ["time", "time"], "value": ["1.500 [1.000, 2.000]", "3.000"],
    }  # fmt: skip
    judged = reported(tidy(rows, ["L"]).assign(verdict="undecided"), "T", (), None).shown
    assert list(judged["verdict"]) == ["undecided", "undecided"]


def test_a_row_for_readers_is_written_once_per_key_in_the_order_of_the_table():
    table = pd.DataFrame(
        {
            "model": ["b", "b", "a"],
            "quantity": ["loss", "share", "loss"],
            "value": [1.0, 0.5, 2.0],
            "low": [0.9, np.nan, 1.5],
            "high": [1.1, np.nan, 2.5],
        }
    )

    @row_per("model")
    def readable(by, model):
        """A row per model."""
        share = by.loc["share"] if "share" in by.index else None
        loss = interval_of(by.loc["loss"], 1)
        return {"model": model, "loss": loss, "share": interval_of(share)}

    assert readable(table).to_numpy().tolist() == [
        ["b", "1.0 [0.9, 1.1]", "0.50"],
        ["a", "2.0 [1.5, 2.5]", "–"],
    ]
    assert readable.__doc__ == "A row per model."
