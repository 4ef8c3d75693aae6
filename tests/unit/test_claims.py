"""Claims as data: what is refused when they are read, and the scoreboard made of them."""

import pytest
import yaml

from onelayer.errors import OnelayerError
from onelayer.evidence.claims import GROUPS, counts, load, scoreboard
from onelayer.evidence.tables import tidy

TABLES = {
    "p/t": tidy(
        [
            {"L": 8, "quantity": "time", "value": 0.5, "low": 0.4, "high": 0.6, "n": 5},
            {"L": 16, "quantity": "time", "value": 0.7},
            {"L": 8, "quantity": "gap", "value": 0.3, "low": 0.2, "high": 0.4, "n": 5, "null": 0.1},
        ],
        ["L"],
    )
}
ENTRY = {
    "paper": "P",
    "claim": "it is fast",
    "place": "Theorem 1",
    "table": "p/t",
    "row": "L == 8 and quantity == 'time'",
    "kind": "theory",
    "rule": "bound",
    "published": 1,
}


def read(tmp_path, *entries):
    (tmp_path / "claims.yaml").write_text(yaml.safe_dump([ENTRY | entry for entry in entries]))
    (tmp_path / "pub.csv").write_text("x,published,other\n1,2.5,\n2,3.5,4\n2,3.5,4\n")
    return load(tmp_path / "claims.yaml", TABLES, tmp_path)


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"tabel": "p/t"}, "unknown key 'tabel'.*did you mean 'table'"),
        ({"table": "p/other"}, "no rule makes the table p/other"),
        ({"rule": "guess"}, "rule: .*'bound', 'number', 'direction' or 'effect'"),
        ({"kind": "published"}, "kind: "),
        ({"published": None}, "rule bound needs `published`"),
        ({"published": "table"}, "published: "),
        ({"rule": "direction"}, "rule direction needs a `side`"),
        ({"side": 2}, "side: "),
        ({"reference": "pub.csv"}, "`reference` and `key` go together"),
        ({"reference": "pub.csv", "key": "x == 3"}, "pub.csv has no number in column published"),
        ({"reference": "pub.csv", "key": "x == 2"}, "x == 2: finds 2 rows, not one"),
        ({"reference": "pub.csv", "key": "y == 2"}, "name 'y' is not defined"),
        ({"reference": "pub.csv", "key": "x == 1", "column": "other"}, "no number in column other"),
    ],
)
def test_a_wrong_entry_is_refused_in_one_line(tmp_path, entry, said):
    with pytest.raises(OnelayerError, match=said) as refused:
        read(tmp_path, {}, {"claim": "the wrong one"} | entry)
    assert "\n" not in str(refused.value)
    assert "entry 2 (the wrong one)" in str(refused.value)


def test_two_entries_with_the_same_words_are_refused(tmp_path):
    with pytest.raises(OnelayerError, match="the same words"):
        read(tmp_path, {}, {"row": "L == 16"})


def test_a_published_number_comes_from_its_csv(tmp_path):
    [claim] = read(tmp_path, {"published": None, "reference": "pub.csv", "key": "x == 1"})
    assert claim["published"] == 2.5


def test_every_claim_is_judged_by_its_row(tmp_path):
    gap = {"row": "quantity == 'gap'", "rule": "effect", "published": 0.35}
    claims = read(
        tmp_path,
        {},
        {"claim": "b", "row": "L == 99"},
        {"claim": "c", **gap},
        {"claim": "d", **gap, "unit": 5, "kind": "paper"},
    )
    board = scoreboard(claims, TABLES)
    assert board["verdict"].tolist() == ["reproduced", "not run", "reproduced", "negligible"]
    assert board["kind"].tolist() == ["theory", "theory", "theory", "control"]
    assert board["null"].tolist()[2:] == [0.1, 0.1]
    assert board["published"].tolist()[:3] == [1, 1, 0.35]
    # Two tests were made in the paper, so that the smaller p counts twice.
    assert board["p_holm"].notna().tolist() == [False, False, True, True]
    assert board["verdict_together"].tolist() == ["", "", "reproduced", "negligible"]
    apart = [claim | {"paper": str(place)} for place, claim in enumerate(claims)]
    alone = scoreboard(apart, TABLES)["p_holm"]
    assert board["p_holm"].min() == pytest.approx(2 * alone.min())
    assert scoreboard(claims, {})["verdict"].eq("not run").all()


def test_what_is_published_may_depend_on_settings_and_come_with_the_row(tmp_path):
    entry = {"published": "row", "row": "L == 8", "rule": "number"}
    rows = [{"L": 8, "quantity": "x", "value": 0.5, "published": 0.51, "tolerance": 0.02}]
    claims = read(tmp_path, entry, {"claim": "sharper", "tolerance": 0.001} | entry)
    board = scoreboard(claims, {"p/t": tidy(rows, ["L"])})
    assert board["verdict"].tolist() == ["reproduced", "smaller"]
    assert board["published"].tolist() == [0.51, 0.51]
    del rows[0]["published"]
    with pytest.raises(OnelayerError, match="the row has no published number"):
        scoreboard(claims, {"p/t": tidy(rows, ["L"])})
    assert scoreboard(claims, {})["verdict"].tolist() == ["not run", "not run"]


def test_printed_and_derived_numbers_theorems_directions_and_stand_ins_are_counted_apart(tmp_path):
    direction = {"rule": "direction", "side": 1, "kind": "paper"}
    effect = {"rule": "effect", "published": 2, "row": "L == 16"}
    board = scoreboard(
        read(
            tmp_path,
            {},
            {"claim": "b", "kind": "paper"} | effect,
            {"claim": "f", "kind": "derived"} | effect,
            {"claim": "c"} | direction,
            {"claim": "d", "kind": "analogue"} | effect,
            {"claim": "e", "kind": "analogue"} | effect | {"unit": 3},
        ),
        TABLES,
    )
    expected = [GROUPS[2], *GROUPS[:2], *GROUPS[3:]]
    assert board["counted"].tolist() == expected
    table = counts(board, "counted")
    assert table.index.tolist() == GROUPS and table.sum(axis=1).tolist() == [1] * 6
    assert table.loc["theorem", "reproduced"] == 1


@pytest.mark.parametrize(
    ("row", "said"), [("L == 8", "finds 2 rows"), ("M == 8", "'M'"), ("L == ", "L == : ")]
)
def test_a_query_that_finds_two_rows_or_no_column_is_one_line(tmp_path, row, said):
    claims = read(tmp_path, {"row": row})
    with pytest.raises(OnelayerError, match=said) as refused:
        scoreboard(claims, TABLES)
    assert "\n" not in str(refused.value) and "p/t" in str(refused.value)
