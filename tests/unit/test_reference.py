"""The reference run: its findings are its tables', and README and docs quote nothing else."""

import csv
import json
import re
import runpy
from pathlib import Path

import pytest

from onelayer.comparison import REFERENCE, main
from onelayer.errors import OnelayerError
from onelayer.findings import page, quotes, requoted
from onelayer.papers import PAPERS
from onelayer.provenance import REPOSITORY
from onelayer.reference import PICTURE, TEXTS, as_kept, keep
from onelayer.tables import read_tables

FINDINGS = runpy.run_path(str(REPOSITORY / "scripts/write_findings.py"))["FINDINGS"]
CODE = re.compile(r"```.*?```|`[^`]*`", re.DOTALL)
QUOTED = re.compile(r"<!-- finding: .*?<!-- end -->", re.DOTALL)
NUMBER = re.compile(r"(?<![\w.])\d*\.\d+(?![\w.]*\d)")


@pytest.fixture(scope="module")
def findings() -> dict[str, str]:
    return dict(quotes((REFERENCE / "findings.md").read_text("utf-8")))


def test_the_findings_are_those_of_the_tables():
    tables = read_tables(REFERENCE.glob("tables/*/*.csv"))
    made = page({title: FINDINGS[paper] for paper, title in PAPERS.items()}, tables)
    assert as_kept(made) == (REFERENCE / "findings.md").read_text("utf-8")


def test_every_finding_comes_out_of_the_reference_run(findings):
    assert [finding.name for paper in FINDINGS.values() for finding in paper] == list(findings)


@pytest.mark.parametrize("text", TEXTS, ids=lambda path: path.name)
def test_what_is_quoted_is_what_was_found(text, findings):
    for name, sentence in quotes(text.read_text("utf-8")):
        assert sentence == findings[name], f"{text.name}: {name}"


def test_the_readme_has_no_other_number_that_could_be_measured():
    text = QUOTED.sub("", CODE.sub("", (REPOSITORY / "README.md").read_text("utf-8")))
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
    assert "Verdicts that changed: 0" in text and "From or to undecided: 0" in text


def test_quotes_are_renewed_and_unknown_ones_are_named():
    text = "a <!-- finding: one -->old\nold<!-- end --> b"
    assert requoted(text, {"one": "new"}) == "a <!-- finding: one -->new<!-- end --> b"
    with pytest.raises(OnelayerError, match="no finding 'one'"):
        requoted(text, {"two": "new"})


def test_an_unfinished_run_is_not_kept(tmp_path):
    reference = tmp_path / "reference"
    reference.mkdir()
    with pytest.raises(OnelayerError, match=r"manifest\.json does not exist"):
        keep(tmp_path / "results", reference)
    assert reference.is_dir()


def test_a_finished_run_takes_the_place_of_the_one_before(tmp_path):
    results, reference = tmp_path / "results", tmp_path / "reference"
    for name in ("manifest.json", "findings.md", PICTURE, "tables/paper/one.csv"):
        (results / name).parent.mkdir(parents=True, exist_ok=True)
        (results / name).write_text(
            '{"commit": "c"}' if name.endswith("json") else "(tables/a/b.md)"
        )
    (reference / "tables/paper").mkdir(parents=True)
    (reference / "tables/paper/old.csv").touch()
    keep(results, reference)
    kept = {str(p.relative_to(reference)) for p in reference.rglob("*") if p.is_file()}
    assert kept == {"findings.md", "machine.json", Path(PICTURE).name, "tables/paper/one.csv"}
    assert (reference / "findings.md").read_text() == "(tables/a/b.csv)"


@pytest.mark.parametrize(
    "table", sorted((REPOSITORY / "workflow/reference").glob("*.csv")), ids=lambda path: path.stem
)
def test_published_numbers_name_the_paper_and_where_in_it(table):
    with table.open(newline="", encoding="utf-8") as file:
        sources = {row["source"] for row in csv.DictReader(file)}
    for source in sources:
        assert re.search(r"\(\d{4}\), arXiv \d{4}\.\d{5}, .*([Ff]igure|[Tt]able)", source), source
        assert not re.search(r"\.(txt|md|pdf|csv)\b", source), source
