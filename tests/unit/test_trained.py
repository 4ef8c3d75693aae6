"""The page of all small models: each cell a row of a kept table, each count a count of rows."""

import csv

import pytest

from onelayer.papers.topic_structure.wikipedia.topics_per_input import ORDERS
from onelayer.report.comparison import REFERENCE
from onelayer.report.trained import ATTENTION, has_learned, page, side, sides, trained
from onelayer.run.provenance import REPOSITORY


@pytest.fixture(scope="module")
def rows():
    return trained(REFERENCE)


def kept(run: str, table: str) -> list[dict]:
    place = REFERENCE / "beside" / run if run else REFERENCE
    with (place / f"tables/topic_structure/{table}.csv").open(encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def test_every_cell_is_a_row_of_a_kept_table(rows):
    shown = dict(ATTENTION) | {
        "learned": ("articles", "most_below_frequencies"),
        "share": ("articles", "most_topic_information"),
    }
    for run, models in rows.groupby("run"):
        table = [row for row in kept(run, "topics_per_input") if row["seed"] == "all"]
        for _, model in models.iterrows():
            own = [row for row in table if row["model"] == model["model"]]
            for column, (probed, quantity) in shown.items():
                of = [r for r in own if (r["probed"], r["quantity"]) == (probed, quantity)]
                assert len(of) == (model[column] is not None)
                for row in of:
                    assert float(row["value"]) == model[column]["value"]
            if model["values"] is not None:
                gaps = [
                    float(row["value"])
                    for row in kept(run, "value_circuit")
                    if row["model"] == model["model"]
                    and row["seed"] == "all"
                    and row["quantity"] == "value_circuit_gap"
                    and row["reading"] == "embedding layer's output"
                ]
                assert gaps == [model["values"]["value"]]


def test_no_kept_model_is_left_out_but_what_two_runs_have(rows):
    places = [""] + sorted(path.name for path in (REFERENCE / "beside").iterdir())
    places = [
        run
        for run in places
        if (
            REFERENCE / "beside" / run / "tables/topic_structure/topics_per_input.csv"
            if run
            else REFERENCE / "tables/topic_structure/topics_per_input.csv"
        ).is_file()
    ]
    expected = {(run, row["model"]) for run in places for row in kept(run, "topics_per_input")}
    missing = expected - set(zip(rows["run"], rows["model"], strict=True))
    assert missing == {("size", "bert-512-one")}, "as at_512 has it"


def test_settings_say_of_inputs_what_tables_do(rows):
    """What is read in the overlay of a run's name is what the run had."""
    for _, model in rows.iterrows():
        own = {
            (row["order"], row["articles"], row["runs"])
            for row in kept(model["run"], "topics_per_input")
            if row["model"] == model["model"]
            and row["seed"] == "all"
            and row["quantity"] == "attention_ratio_null_corrected"
        }
        assert own == {(model["order"], str(model["articles"]), str(model["runs"]))}
        assert len(model["seeds"]) == (model["runs"] if model["runs"] > 1 else 0)


def test_sides_are_counted_as_a_reader_would(rows):
    for _, line in sides(rows).iterrows():
        counts = dict.fromkeys(("above", "undecided", "below", "not shown to have learned"), 0)
        for _, model in rows.iterrows():
            order = ORDERS[model["order"]]
            if (model["family"], order) != (line["family"], line["words of an input"]):
                continue
            if model["runs"] == 1:
                continue
            lows = [model[of]["low"] for of in ("learned", "share") if model[of]]
            if not lows or max(lows) <= 0:
                counts["not shown to have learned"] += 1
            elif model["on articles"]["low"] > 1:
                counts["above"] += 1
            elif model["on articles"]["high"] < 1:
                counts["below"] += 1
            else:
                counts["undecided"] += 1
        assert line[list(counts)].to_dict() == counts


def test_the_page_shows_every_model_once(rows):
    lines = [line for line in page(rows).splitlines() if line.startswith("| ")]
    assert len(lines) == len(rows) + rows["order"].nunique()
    of = rows[(rows["run"] == "at_512_sixteen") & (rows["model"] == "bert-512-bag-of-4-sixteen")]
    (line,) = [
        line
        for line in lines
        if "at_512_sixteen" in line and f"**{of['learned'].iloc[0]['value']:.2f} [" in line
        and line.startswith("| 4 ") and "| bert  " in line
    ]  # fmt: skip
    assert "**0.92 [0.87, 0.98]**" in line


def test_what_the_notes_say_in_short_is_what_the_page_has(rows):
    notes = " ".join((REPOSITORY / "docs/notes.md").read_text("utf-8").split())
    learned = rows[(rows["runs"] > 1) & rows.apply(has_learned, axis=1)]
    learned = learned.assign(side=[side(row, 1) for row in learned["on articles"]])
    masked = learned[learned["family"].isin(["bert", "roberta"])]
    ordered = masked[masked["order"].isin(["as it is", "pieces"])]
    assert "lies above its null in six of seventeen kinds" in notes
    assert (len(ordered), (ordered["side"] == "above").sum()) == (17, 6)
    assert "below" not in set(ordered["side"])
    above = ordered[ordered["side"] == "above"]
    by = [row["value"] - 1 for row in above["on articles"]]
    assert "in four of them by about five hundredths" in notes
    assert sum(0.04 < one < 0.06 for one in by) == 4
    apart = [row for row in above["at equal distance"] if row is not None]
    assert "of three of the six that were measured at equal distance, two lie above" in notes
    found = [round(row["value"], 2) for row in apart if side(row, 1) == "above"]
    assert len(apart) == 3 and sorted(found) == [1.04, 1.06]
    bags = masked[masked["order"] == "shuffled"]["side"]
    assert "it lies above in none of fifteen, and below in five" in notes
    assert (len(bags), (bags == "above").sum(), (bags == "below").sum()) == (15, 0, 5)
    drawn = learned[(learned["family"] == "bert") & (learned["order"] == "drawn")]
    assert set(drawn["tokens"]) == {3_000_000, 24_000_000, 32_000_000}
    early, late = (
        drawn[drawn["tokens"] > 3e6 if one else drawn["tokens"] == 3e6] for one in (0, 1)
    )
    assert "after three million tokens, in five kinds of six" in notes
    assert (len(early), (early["side"] == "below").sum()) == (6, 5)
    assert len(late) == 2 and set(late["side"]) == {"above"}
    bart = learned[learned["family"] == "bart"]
    assert "BART's is undecided in all five kinds" in notes
    assert bart["side"].tolist() == ["undecided"] * 5
    assert "albert" not in set(learned["family"]) and "ALBERT is not shown to have learned" in notes
    values = learned[learned["values"].notna()]
    said = {
        family: [row["verdict"] for row in of["values"]] for family, of in values.groupby("family")
    }
    assert "learned and of which they were measured, but one of BART" in notes
    assert set(said["bert"]) == set(said["roberta"]) == {"reproduced"}
    assert sorted(said["bart"]) == ["reproduced"] * 4 + ["undecided"]
    assert set(said["electra"]) == {"opposite"}
    readme = " ".join((REPOSITORY / "README.md").read_text("utf-8").split())
    assert (
        "not shown to in any of fifteen kinds of training from which they learned; in five"
        in readme
    )
