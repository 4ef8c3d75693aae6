"""The page of all small models: each cell a row of a kept table, each count a count of rows."""

import csv

import pytest

from onelayer.papers.topic_structure.wikipedia.topics_per_input import ORDERS
from onelayer.report.comparison import REFERENCE
from onelayer.report.scoreboard_figure import MARKS
from onelayer.report.trained import ATTENTION, ONE_BY_ONE, has_learned, page, sides, trained
from onelayer.report.trained_figure import marked, small_models
from onelayer.run.provenance import REPOSITORY


@pytest.fixture(scope="module")
def rows():
    return trained(REFERENCE)


def kept(run: str, table: str) -> list[dict]:
    place = REFERENCE / "beside" / run if run else REFERENCE
    with (place / f"tables/topic_structure/{table}.csv").open(encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def test_every_cell_is_a_row_of_a_kept_table(rows):
    shown = {of: (on, f"{ratio}_null_corrected") for of, (on, ratio) in ATTENTION.items()} | {
        "learned": ("articles", "most_below_frequencies"),
        "share": ("articles", "most_topic_information"),
    }
    for run, models in rows.groupby("run"):
        table = [row for row in kept(run, "topics_per_input") if row["seed"] == "all"]
        for _, model in models.iterrows():
            own = [row for row in table if row["model"] == model["model"]]
            for column, (probed, quantity) in shown.items():
                of = [r for r in own if (r["probed"], r["quantity"]) == (probed, quantity)]
                if probed != "articles" and model["order"] == ONE_BY_ONE:
                    of = []  # those inputs were another model's
                assert len(of) == (model[column] is not None)
                for row in of:
                    assert float(row["value"]) == model[column]["value"]
            (ratio,) = [r for r in own if (r["probed"], r["quantity"]) == ATTENTION["on articles"]]
            assert model["on articles"]["verdict"] == ratio["verdict"]
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
        orders = {"as it is": {"as it is", "pieces"}}.get(model["order"], {model["order"]})
        ((order, articles, runs),) = own
        assert order in orders and (order == model["order"] or articles == "1")
        assert (articles, runs) == (str(model["articles"]), str(model["runs"]))
        assert len(model["seeds"]) == (model["runs"] if model["runs"] > 1 else 0)


def test_sides_are_counted_as_a_reader_would(rows):
    columns = ["above", "near", "undecided", "below", "not shown to have learned", "not measured"]
    named = {"reproduced": "above", "negligible": "near", "opposite": "below"}
    for _, line in sides(rows).iterrows():
        counts = dict.fromkeys(columns, 0)
        for _, model in rows.iterrows():
            order = ORDERS[model["order"]]
            if (model["family"], order) != (line["family"], line["words of an input"]):
                continue
            if model["runs"] == 1:
                continue
            lows = [model[of]["low"] for of in ("learned", "share") if model[of]]
            verdict = model["on articles"]["verdict"]
            if not lows:
                counts["not measured"] += 1
            elif max(lows) <= 0:
                counts["not shown to have learned"] += 1
            else:
                counts[named.get(verdict, verdict)] += 1
        assert line[columns].to_dict() == counts


def test_the_picture_has_a_mark_for_every_model_that_is_counted(rows):
    marks, counted = marked(rows), sides(rows)
    for _, line in counted.iterrows():
        order = next(order for order, words in ORDERS.items() if words == line["words of an input"])
        own = marks[(marks["family"] == line["family"]) & (marks["order"] == order)]
        shown = own["shown"].replace({"learning not measured": "not measured"}).value_counts()
        assert shown.to_dict() == {of: n for of, n in line[2:].items() if n}
    drawn = [axes for axes in small_models(rows).axes if axes.axison]
    points = [line for axes in drawn for line in axes.lines if len(line.get_xdata()) == 1]
    assert sorted(line.get_ydata()[0] for line in points) == sorted(marks["value"])
    shape, colour, _ = MARKS["opposite"]
    below = {line.get_ydata()[0] for line in points if line.get_color() == colour}
    assert below == set(marks.loc[marks["shown"] == "below", "value"]) and max(below) < 1
    assert {line.get_marker() for line in points if line.get_color() == colour} == {shape}
    for axes in drawn:
        low, high = axes.get_ylim()
        for line in axes.lines:
            assert low <= min(line.get_ydata()) and max(line.get_ydata()) <= high


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
    assert " 0.92 [0.87, 0.98] " in line, "undecided with the spread of permuted topics"
    (decided,) = [line for line in lines if "| bert, 1 layer " in line and "| **0.33 [0.17" in line]
    assert "**0.93 [0.92, 0.95]**" in decided


def test_what_the_notes_say_in_short_is_what_the_page_has(rows):
    notes = " ".join((REPOSITORY / "docs/attention_on_text.md").read_text("utf-8").split())
    rows = rows[rows["runs"] > 1]
    rows = rows.assign(verdict=[row["verdict"] for row in rows["on articles"]])
    came = rows.apply(has_learned, axis=1)
    learned, rest = rows[came == True], rows[came != True]  # noqa: E712
    masked = learned[learned["family"].isin(["bert", "roberta"])]
    ordered = masked[masked["order"].isin(["as it is", "pieces"])]
    assert "above in five of twenty rows, and below in none" in notes
    assert (len(ordered), (ordered["verdict"] == "reproduced").sum()) == (20, 5)
    assert "opposite" not in set(ordered["verdict"])
    by = sorted(
        row["value"] - 1 for row in ordered[ordered["verdict"] == "reproduced"]["on articles"]
    )
    assert "in two of them by six hundredths, in three, of 32 million tokens, by more" in notes
    assert [round(one, 2) for one in by[:2]] == [0.05, 0.06] or max(by[:2]) < 0.065
    large = ordered[ordered["tokens"] == 32_000_000]
    assert set(large["verdict"]) == {"reproduced"} and len(large) == 3
    assert "of which five to seven hundredths are left" in notes
    assert all(0.045 < row["value"] - 1 < 0.075 for row in large["at equal distance"])
    several = ordered[ordered["articles"] > 1]
    assert "only five rows of several articles in order learned, two of which lie above" in notes
    assert sorted(several["verdict"]) == [*["reproduced"] * 2, *["undecided"] * 3]
    bags = masked[masked["order"] == "shuffled"]["verdict"]
    assert "after bags above in none of fifteen, and below in one, a BERT of one layer" in notes
    assert (len(bags), (bags == "reproduced").sum(), (bags == "opposite").sum()) == (15, 0, 1)
    drawn = learned[(learned["family"] == "bert") & (learned["order"] == "drawn")]
    assert set(drawn["tokens"]) == {3_000_000, 24_000_000, 32_000_000}
    early, late = drawn[drawn["tokens"] == 3_000_000], drawn[drawn["tokens"] > 3_000_000]
    assert "after three million tokens in four rows of six" in notes
    assert (len(early), (early["verdict"] == "opposite").sum()) == (6, 4)
    assert len(late) == 2 and set(late["verdict"]) == {"reproduced"}
    others = rest[(rest["verdict"] == "reproduced") & (rest["family"] == "bert")]
    assert (
        "Four rows of BERT that are not shown to have learned, or were not measured, lie" in notes
    )
    assert len(others) == 4 and set(others["order"]) == {"pieces", "shuffled"}
    assert (others["order"] == "shuffled").sum() == 1
    assert all(0.025 < row["value"] - 1 < 0.085 for row in others["on articles"])
    bart = learned[learned["family"] == "bart"]
    assert "BART's is undecided in all five rows" in notes
    assert bart["verdict"].tolist() == ["undecided"] * 5
    assert "albert" not in set(learned["family"]) and "ALBERT is not shown to have learned" in notes
    values = learned[learned["values"].notna()]
    said = {
        family: [row["verdict"] for row in of["values"]] for family, of in values.groupby("family")
    }
    assert "of which they were measured, but one of BART" in notes
    assert set(said["bert"]) == set(said["roberta"]) == {"reproduced"}
    assert sorted(said["bart"]) == ["reproduced"] * 4 + ["undecided"]
    assert set(said["electra"]) == {"opposite"}
    both = values[values["verdict"] == "reproduced"]
    both = both[[row["verdict"] == "reproduced" for row in both["values"]]]
    assert "together in BERT, after words drawn from topics and after articles or pieces" in notes
    assert "and in RoBERTa after articles one by one." in notes
    assert {*zip(both["family"], both["order"], strict=True)} == {
        *(("bert", order) for order in ("drawn", "as it is", "pieces")),
        ("roberta", "as it is"),
    }
    assert "is decided after such words, and after 32 million tokens of articles" in notes
    first = {
        (row["order"], row["tokens"])
        for _, row in both.iterrows()
        for of in kept(row["run"], "value_circuit")
        if (of["model"], of["seed"]) == (row["model"], "all")
        and of["quantity"] == "doublings_before_attention"
        and of["reading"] == "embedding layer's output"
        and of["verdict"] == "reproduced"
    }
    assert first == {
        ("drawn", 24_000_000),
        *((order, 32_000_000) for order in ("drawn", "as it is")),
    }
    readme = " ".join((REPOSITORY / "README.md").read_text("utf-8").split())
    assert "not shown to in any of fifteen kinds of training from which they learned" in readme
