"""The reference run: all that is said follows from its tables, in README and docs as well."""

import csv
import json
import re
import shutil

import pandas as pd
import pytest

from onelayer.errors import OnelayerError
from onelayer.evidence.sentences import (
    NOT_AS_CLAIMED,
    Said,
    all_said,
    chosen,
    page,
    quotes,
    requoted,
    scores,
)
from onelayer.evidence.tables import VALUE_COLUMNS, markdown_table, read_csv, read_tables
from onelayer.evidence.verdicts import KINDS, VERDICTS
from onelayer.papers.findings import BY_TITLE, CLAIMS
from onelayer.report.comparison import REFERENCE, main
from onelayer.report.crate.metadata import METADATA, Contents, describe
from onelayer.report.reference import (
    README,
    SCOREBOARD,
    TEXTS,
    as_kept,
    keep_run,
    requote,
    with_blocks,
)
from onelayer.report.scoreboard import HOLM, claims
from onelayer.run.provenance import REPOSITORY
from tests.oracle.judgement import share_of, verdicts_of

CODE = re.compile(r"```.*?```|`[^`]*`", re.DOTALL)
BLOCK = re.compile(r"<!-- block: .*?<!-- end of block -->", re.DOTALL)
QUOTED = re.compile(r"<!-- (?:finding|brief): .*?<!-- end -->", re.DOTALL)
NUMBER = re.compile(r"(?<![\w.])\d*\.\d+(?![\w.]*\d)")
TABLES = sorted(REFERENCE.glob("tables/*/*.csv"))
# Over how many runs the published means are whose standard deviations count.
PUBLISHED_RUNS = {"scan_snap/entropy_sweep": 10, "scan_snap/claims": 10}
# What README says in one sentence of several claims.
IN_ONE_SENTENCE = ("attention_adam_003", "attention_adam_01", "attention_adam_03")
# The paper's own checkpoints, which a hub has.
CHECKPOINTS = ("bert", "albert", "bart", "electra", "roberta")


@pytest.fixture(scope="module")
def tables() -> dict[str, pd.DataFrame]:
    return read_tables(TABLES)


@pytest.fixture(scope="module")
def said(tables) -> dict[str, Said]:
    return {one.finding.name: one for own in all_said(BY_TITLE, tables).values() for one in own}


@pytest.fixture(scope="module")
def findings() -> dict[str, str]:
    return dict(quotes((REFERENCE / "findings.md").read_text("utf-8")))


@pytest.mark.parametrize("path", TABLES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_whoever_has_a_table_can_judge_it_again(path):
    table = read_csv(path)
    table = table[table["quantity"] != HOLM]
    runs = PUBLISHED_RUNS.get(f"{path.parent.name}/{path.stem}", 0)
    keys = [column for column in table if column not in VALUE_COLUMNS]
    otherwise = [
        (*(row[key] for key in (*keys, "quantity")), row["verdict"], allowed)
        for row in table.to_dict("records")
        if row["verdict"] not in (allowed := verdicts_of(row, runs))
    ]
    assert otherwise == []


@pytest.mark.parametrize("path", TABLES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_tables_effects_follow_from_its_numbers(path):
    table = read_csv(path)
    assert set(table["kind"]) <= {*KINDS, ""} and set(table["verdict"]) <= {*VERDICTS, ""}
    known = table[table["effect_share"].notna()]
    for row in known.to_dict("records"):
        assert row["effect_share"] == pytest.approx(share_of(row), rel=1e-4, abs=1e-4)
        if row["effect_low"] == row["effect_low"]:
            assert row["effect_low"] <= row["effect_high"]
    # A direction has no published number; what has one is compared with that.
    assert table.loc[table["kind"] == "claim", "published"].isna().all()


def test_the_findings_are_those_of_the_tables(tables):
    text = page(all_said(BY_TITLE, tables), tables)
    assert as_kept(text) == (REFERENCE / "findings.md").read_text("utf-8")


def test_every_claim_stands_in_the_findings_and_on_the_scoreboard(findings, tables):
    assert [one.name for own in BY_TITLE.values() for one in own if one.name not in findings] == []
    named = [finding.name for own in CLAIMS.values() for finding in own]
    board = tables[SCOREBOARD]
    board = board[board["quantity"] != HOLM].set_index("finding")
    assert board.index.tolist() == named
    for finding in (one for own in CLAIMS.values() for one in own):
        if finding.table not in tables:  # newer than the reference run
            assert board.loc[finding.name, "verdict"] == "not run", finding.name
            continue
        [row] = chosen(tables[finding.table], finding.primary).to_dict("records")
        assert row["verdict"] and row["kind"] == finding.kind, finding.name


def test_to_say_it_again_changes_nothing(tmp_path):
    reference, readme = tmp_path / "reference", tmp_path / "README.md"
    shutil.copytree(REFERENCE, reference)
    shutil.copyfile(README, readme)
    requote(reference, [readme])
    assert readme.read_text("utf-8") == README.read_text("utf-8")
    changed = [
        str(path.relative_to(reference))
        for path in sorted(reference.rglob("*"))
        if path.is_file()
        and path.read_bytes() != (REFERENCE / path.relative_to(reference)).read_bytes()
    ]
    assert changed == []


def test_the_readme_opens_with_the_picture_and_the_score(tables):
    text = README.read_text("utf-8")
    judged = claims(tables[SCOREBOARD])
    score = markdown_table(scores(judged))
    block = f"<!-- block: score -->\n\n{score}\n\n<!-- end of block -->"
    places = ["scoreboard.png", block, "**What did not reproduce**", "## Run it"]
    assert [text.index(place) for place in places] == sorted(map(text.index, places))
    assert len(text.splitlines()) <= 90


def test_the_readme_has_five_sentences_of_results_each_with_one_number():
    said = [sentence for _, sentence in quotes(README.read_text("utf-8"))]
    assert len(said) <= 5
    for sentence in said:
        assert len(re.findall(r"\[[^]]*\]", sentence)) <= 1 and "(published: " not in sentence


def test_the_readme_tells_all_that_did_not_reproduce_of_the_papers_own_objects(said):
    against = {name for name, one in said.items() if one.section == NOT_AS_CLAIMED}
    told = {name for name, _ in quotes(README.read_text("utf-8"))}
    assert against - told == set(IN_ONE_SENTENCE) and "attention_adam" in told
    assert {said[name].verdict for name in IN_ONE_SENTENCE} == {"larger"}
    kept = (REFERENCE / "did_not_reproduce.md").read_text("utf-8")
    assert against <= {name for name, _ in quotes(kept)}
    assert not [name for name, _ in quotes(kept) if said[name].verdict == "reproduced"]


def test_the_readme_says_that_no_checkpoint_of_the_paper_has_run(tables):
    for overlap in ("disjoint", "overlapping"):
        table = tables[f"topic_structure/wikipedia_{overlap}"]
        own = table[table["model"].isin(CHECKPOINTS) & (table["verdict"] != "")]
        assert set(own["model"]) == set(CHECKPOINTS)
        assert set(own["verdict"]) == {"not run"}
    said = " ".join(README.read_text("utf-8").split())
    assert "None of the five published checkpoints of the topic-structure paper has run" in said


@pytest.mark.parametrize("text", TEXTS, ids=lambda path: path.name)
def test_what_is_quoted_is_what_was_found(text, said):
    kept = text.read_text("utf-8")
    assert requoted(kept, said) == kept


def test_the_readme_has_no_other_number_that_could_be_measured():
    text = QUOTED.sub("", BLOCK.sub("", CODE.sub("", README.read_text("utf-8"))))
    text = re.sub(r"\[arXiv [\d.]+\]\([^)]*\)", "", text)
    assert set(NUMBER.findall(text)) <= {
        "3.11",
        "3.5",
        "4.0",
        "3.0",
        "2.0",
    }  # versions, disk, CC BY


def test_the_machine_is_known():
    machine = json.loads((REFERENCE / "machine.json").read_text("utf-8"))
    assert all(machine[name] for name in ("cpu", "cores", "libraries", "commit"))
    assert not machine["commit"].endswith("+")


def test_the_reference_run_agrees_with_itself():
    text = main(REFERENCE)
    assert "Verdicts that changed: 0" in text
    assert "From or to undecided, not reached or not run: 0" in text


def test_quotes_are_renewed_in_full_or_in_brief_and_unknown_ones_are_named():
    text = "a <!-- finding: one -->old\nold<!-- end --> <!-- brief: one -->old<!-- end --> b"
    said = {"one": Said(None, "", "", "new and more", "new")}
    renewed = "a <!-- finding: one -->new and more<!-- end --> <!-- brief: one -->new<!-- end --> b"
    assert requoted(text, said) == renewed
    with pytest.raises(OnelayerError, match="no finding 'one'"):
        requoted(text, {})


def test_blocks_are_renewed_and_unknown_ones_are_named():
    text = "a\n<!-- block: one -->old\n<!-- finding: x -->y<!-- end -->\n<!-- end of block -->\nb"
    renewed = "a\n<!-- block: one -->\n\nnew\n\n<!-- end of block -->\nb"
    assert with_blocks(text, {"one": "new"}) == renewed
    assert with_blocks(renewed, {"one": "new"}) == renewed
    with pytest.raises(OnelayerError, match="no block 'one', only two"):
        with_blocks(text, {"two": "new"})


def test_an_unfinished_run_is_not_kept(tmp_path):
    reference = tmp_path / "reference"
    reference.mkdir()
    with pytest.raises(OnelayerError, match=r"ro-crate-metadata\.json does not exist"):
        keep_run(tmp_path / "results", reference)
    assert reference.is_dir()


def test_a_finished_run_takes_the_place_of_the_one_before(tmp_path):
    results, reference = tmp_path / "results", tmp_path / "reference"
    for name in ("findings.md", "tables/paper/one.csv"):
        (results / name).parent.mkdir(parents=True, exist_ok=True)
        (results / name).write_text("x")
    (results / METADATA).write_bytes(describe(Contents(results, {}, [], "c", frozenset())))
    (reference / "tables/paper").mkdir(parents=True)
    (reference / "tables/paper/old.csv").touch()
    keep_run(results, reference)
    kept = {str(p.relative_to(reference)) for p in reference.rglob("*") if p.is_file()}
    assert kept == {"machine.json", "tables/paper/one.csv"}


def test_links_of_what_is_kept_lead_to_the_tables_that_are_kept():
    assert as_kept("(tables/a/b.md) (notes.md)") == "(tables/a/b.csv) (notes.md)"


@pytest.mark.parametrize(
    "table", sorted((REPOSITORY / "workflow/reference").glob("*.csv")), ids=lambda path: path.stem
)
def test_published_numbers_name_the_paper_and_where_in_it(table):
    with table.open(newline="", encoding="utf-8") as file:
        sources = {row["source"] for row in csv.DictReader(file)}
    for source in sources:
        assert re.search(r"\(\d{4}\), arXiv \d{4}\.\d{5}, .*([Ff]igure|[Tt]able|: '.+')", source), (
            source
        )
        assert not re.search(r"\.(txt|md|pdf|csv)\b", source), source
