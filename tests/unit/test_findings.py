"""Findings: which rows decide, which sentence they choose, and what it says."""

import pandas as pd
import pytest

from onelayer.findings import Finding, outcome_of, page, quoted, quotes, say
from onelayer.tables import tidy


def rows(*verdicts: str) -> pd.DataFrame:
    """A table with a row per verdict, values 1, 2, ..., intervals of +-.5."""
    values = range(1, len(verdicts) + 1)
    table = [
        {
            "size": size,
            "quantity": "ratio",
            "value": float(size),
            "low": size - 0.5,
            "high": size + 0.5,
            "n": 10,
            "published": 2.0,
            "verdict": verdict,
        }
        for size, verdict in zip(values, verdicts, strict=True)
    ]
    return tidy(table, ["size"])


CLAIM = Finding(
    "claim",
    "paper/table",
    {"quantity": "ratio"},
    holds="It is {it:1}.",
    fails="It is not, {it:1}.",
    open="Perhaps, {it:1}.",
    mixed="In {it.agree} of {it.rows}.",
)


@pytest.mark.parametrize(
    ("verdicts", "outcome"),
    [
        (["within", "direction"], "holds"),
        (["differs"], "fails"),
        (["differs", "open"], "fails"),
        (["within", "open"], "open"),
        (["not reached"], "open"),
        (["within", "differs"], "mixed"),
        (["", ""], "measured"),
        (["", "within"], "holds"),
    ],
)
def test_the_verdicts_of_all_rows_choose_the_outcome(verdicts, outcome):
    assert outcome_of(verdicts) == outcome


@pytest.mark.parametrize(
    ("verdicts", "sentence"),
    [
        (["within"], "It is 1.0 [0.5, 1.5]."),
        (["differs"], "It is not, 1.0 [0.5, 1.5]."),
        (["open", "within"], "Perhaps, 1.0 to 2.0."),
        (["within", "differs", "direction"], "In 2 of 3."),
    ],
)
def test_the_outcome_chooses_the_sentence(verdicts, sentence):
    assert say(CLAIM, {"paper/table": rows(*verdicts)}).sentence == sentence


def test_rows_that_were_not_run_and_rows_without_a_verdict_do_not_decide():
    said = say(CLAIM, {"paper/table": rows("not run", "", "within")})
    assert (said.outcome, said.sentence) == ("holds", "It is 3.0 [2.5, 3.5].")


def test_rows_that_only_describe_are_measured():
    assert say(CLAIM, {"paper/table": rows("", "")}).outcome == "measured"


def test_keys_are_compared_as_numbers():
    one = Finding(
        "one", "paper/table", {"size": 2}, holds="{it.size:g}: {it.published:.1f}, {it.n}"
    )
    table = rows("within", "within").astype({"size": float})
    assert say(one, {"paper/table": table}).sentence == "2: 2.0, 10"


def test_several_values_of_a_column_choose_several_rows():
    some = Finding("some", "paper/table", {"size": (1, 3)}, holds="{it.least:g} {it.most:g}")
    assert say(some, {"paper/table": rows("", "", "")}).sentence == "1 3"


def test_a_run_without_the_rows_has_no_such_finding():
    assert say(CLAIM, {}) is None
    other = Finding("other", "paper/table", {"size": 7}, holds="{it:1}")
    assert say(other, {"paper/table": rows("within")}) is None


def test_a_column_that_is_not_there_is_named():
    wrong = Finding("wrong", "paper/table", {"sise": 1}, holds="{it:1}")
    with pytest.raises(ValueError, match="no column sise"):
        say(wrong, {"paper/table": rows("within")})


def test_an_outcome_without_a_sentence_is_named():
    with pytest.raises(ValueError, match="hopeful: no sentence for the outcome 'open'"):
        say(
            Finding("hopeful", "paper/table", {}, holds="{it:1}", fails="no"),
            {"paper/table": rows("open")},
        )


def test_an_entry_that_differs_between_rows_cannot_be_quoted():
    table = rows("", "").assign(published=[1.0, 2.0])
    with pytest.raises(ValueError, match="published differs between 2 rows"):
        say(
            Finding("two", "paper/table", {}, holds="{it.published}"),
            {"paper/table": table},
        )


def test_a_page_can_be_quoted_from():
    tables = {"paper/table": rows("within")}
    said = say(CLAIM, tables)
    text = page({"A paper": [CLAIM, Finding("none", "paper/none", {}, holds="")]}, tables)
    assert quotes(text) == [("claim", "It is 1.0 [0.5, 1.5].")]
    assert "- **Holds.** " in text
    assert "(tables/paper/table.md)" in text
    assert quotes("a\n" + quoted(said).replace("0.5,", "0.5,\n")) == quotes(text)
