"""What the end of a run says came out, from tables that the test writes."""

import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from onelayer.evidence.sentences import HOLM
from onelayer.evidence.tables import read_csv, tidy, write_csv
from onelayer.report.comparison import REFERENCE
from onelayer.report.outcome import SCOREBOARD, main, outcome
from onelayer.report.scoreboard import KEYS as SCORE_KEYS

KEYS = ["overlap", "model", "threshold", "seed"]


def write(results: Path, name: str, rows: list[dict]) -> None:
    path = results / "tables" / f"{name}.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    tidy(pd.DataFrame(rows), KEYS).to_csv(path, index=False)


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Two thresholds and two models, a published row that was not run, and another table."""
    ours = {"overlap": "disjoint", "quantity": "attention_ratio", "seed": "all"}
    minilm = ours | {"model": "minilm", "low": 1.2, "high": 1.4, "published": 1.32}
    random = ours | {"model": "random", "low": 0.999, "high": 1.001}
    published = {"kind": "published"}
    rows = [
        minilm | published | {"threshold": "top 20", "value": 1.3, "verdict": "reproduced"},
        minilm | published | {"threshold": "top 50", "value": 1.25, "verdict": "smaller"},
        random | {"threshold": "top 20", "value": 1.0, "kind": "control", "verdict": "reproduced"},
        random | {"threshold": "top 20", "value": 0.999, "seed": "1"},
        ours | {"model": "bert", "threshold": "top 20", "verdict": "not run"},
    ]
    folder = tmp_path / "results"
    write(folder, "topic_structure/wikipedia_disjoint", rows)
    write(
        folder,
        "topic_structure/theory_gap",
        [dict.fromkeys(KEYS, "") | {"quantity": "gap", "kind": "theory", "verdict": "opposite"}],
    )
    return folder


def test_the_headline_has_every_measured_model_under_the_first_threshold(results):
    assert outcome(results)[:4] == [
        "Same-topic / different-topic attention, disjoint topics, top 20",
        "  minilm         1.300, 95% interval 1.200 to 1.400; 1.32 published; reproduced",
        "  random         1.000, 95% interval 0.999 to 1.001; reproduced",
        "",
    ]


@pytest.fixture
def scored(results) -> Path:
    """The same with a scoreboard."""
    row = {"paper": "P", "claim": "c", "tested": "t", "place": "1", "decided_by": "p/t"}
    row |= {"quantity": "r"}
    rows = [
        row | {"finding": "a", "kind": "claim", "verdict": "reproduced"},
        row | {"finding": "b", "kind": "claim", "verdict": "not run"},
        row | {"finding": "c", "kind": "analogue", "verdict": "smaller"},
        row | {"finding": "c", "kind": "analogue", "verdict": "undecided", "quantity": HOLM},
    ]
    path = results / f"tables/{SCOREBOARD}.csv"
    path.parent.mkdir()
    write_csv(tidy(rows, SCORE_KEYS), path)
    return results


def test_of_a_whole_run_the_score_is_told_and_not_the_headline(scored):
    assert outcome(scored)[:4] == [
        "Claims, each by the one row that decides it",
        "  P                             2: 1 reproduced, 1 not run",
        "  All: analogues                1: 1 smaller",
        "",
    ]
    assert not any("attention" in line for line in outcome(scored)[:-3])


def test_it_says_how_much_of_each_paper_is_not_as_in_the_reference_run(scored, tmp_path):
    reference = tmp_path / "reference"
    shutil.copytree(scored, reference)
    name = "topic_structure/wikipedia_disjoint"
    table = read_csv(scored / f"tables/{name}.csv")
    table.loc[0, ["value", "verdict"]] = [9.0, "opposite"]
    write_csv(table, scored / f"tables/{name}.csv")
    line = "  Topic structure             1 of 4 rows moved; 1 verdicts changed"
    line += ", 0 from or to undecided"
    assert line in outcome(scored, reference)
    assert line.replace("; 1", "; 0").replace("1 of", "0 of") in outcome(reference, reference)


def test_the_end_of_a_whole_run_has_25_lines_at_most(tmp_path):
    shutil.copytree(REFERENCE / "tables", tmp_path / "tables")
    (tmp_path / "index.md").touch()
    assert len(main(tmp_path, compared=True).splitlines()) <= 25


def test_a_table_in_which_nothing_was_run_has_no_headline(results):
    rows = [
        {"overlap": "overlapping", "model": "bert", "threshold": "top 20", "seed": "all",
         "quantity": "attention_ratio", "verdict": "not run", "kind": "published"}
    ]  # fmt: skip
    write(results, "topic_structure/wikipedia_overlapping", rows)
    assert not any("overlapping" in line for line in outcome(results)[:-2])


def test_it_says_where_to_read_on(results):
    tables = [
        results / f"tables/topic_structure/{n}.md" for n in ("theory_gap", "wikipedia_disjoint")
    ]
    assert outcome(results)[-2:] == [str(table) for table in tables]
    (results / "index.md").touch()
    (results / "report.html").touch()
    assert outcome(results)[-3:] == [
        f"{results / 'findings.md'}: what was found, in sentences",
        f"{results / 'index.md'}: every table and figure",
        f"{results / 'report.html'}: all on one page",
    ]


def test_a_folder_without_tables_is_refused_in_one_line(tmp_path):
    run = subprocess.run(
        [sys.executable, "-m", "onelayer", "outcome", tmp_path],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 1 and run.stdout == ""
    assert run.stderr == f"onelayer: {tmp_path}: no tables here; `make results` makes them\n"
