"""The script that writes the scoreboard, the findings and the index."""

import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest

from onelayer.evidence.tables import read, tidy, write
from tests.conftest import ROOT
from tests.unit.test_job import Named

BOARD = [f"results/tables/all_papers/scoreboard.{form}" for form in ("csv", "md", "tex")]
FIGURE = [f"results/figures/all_papers/scoreboard.{form}" for form in ("pdf", "png")]


class Files(Named):
    """Files, or params, that a script also asks for as attributes."""

    __getattr__ = Named.__getitem__


@pytest.fixture
def results(tmp_path, monkeypatch):
    """A run of one table, two claims and a control, with its scoreboard."""
    monkeypatch.chdir(tmp_path)
    for folder in ("tables/scan_snap", "tables/all_papers", "figures/all_papers"):
        (tmp_path / "results" / folder).mkdir(parents=True)
    place = Path("results/tables/scan_snap/t")
    rows = [{"L": L, "quantity": "x", "value": L, "low": L - 0.1, "high": L + 0.1} for L in (1, 2)]
    files = [place.with_suffix(f".{form}") for form in ("csv", "md", "tex")]
    write(tidy(rows, ["L"]), *files, title="t")
    claim = {"paper": "Scan and Snap", "place": "Fig. 1", "table": "scan_snap/t"}
    claim |= {"rule": "effect", "kind": "paper", "row": "L == 1", "published": 1}
    stand_in = {"row": "L == 2", "kind": "analogue", "counted": "stand-in"}
    control = {"unit": 50, "counted": "control"}
    claims = [
        claim | {"claim": "is 1 | one", "counted": "printed number"},
        claim | {"claim": "is 1 on a stand-in"} | stand_in,
        claim | {"claim": "is next to nothing"} | control,
    ]
    pages = {"findings": "results/findings.md", "index": "results/index.md"}
    pages |= {"summary": "results/summary.txt", "settings": "results/settings.yaml"}
    snakemake = SimpleNamespace(
        rule="scoreboard", wildcards=[], log=["log"], config={},
        input=Files(tables=[f"{place}.csv"]),
        output=Files(table=BOARD, figure=FIGURE, **pages),
        params=Files(
            claims=claims,
            shown=[["What it shows.", f"{place}.csv"]],
            settings={"portable": False, "threads": 1},
            credits=["Articles by people, CC BY-SA"],
            caption="The score.",
        ),
    )  # fmt: skip
    runpy.run_path(str(ROOT / "scripts/scoreboard.py"), {"snakemake": snakemake})
    return tmp_path / "results"


def test_findings_have_a_line_a_claim_with_a_link_to_its_table(results):
    lines = (results / "findings.md").read_text("utf-8").splitlines()
    [line] = [line for line in lines if "is 1 \\| one" in line]
    cells = [cell.strip() for cell in line.replace("\\|", "").strip("|").split("|")]
    assert cells[1:] == [
        "Fig. 1", "paper", "1.00", "1.00 [0.90, 1.10]", "reproduced", "[t](tables/scan_snap/t.md)",
        "`L == 1`",
    ]  # fmt: skip
    table = (results / "tables/all_papers/scoreboard.md").read_text("utf-8").splitlines()
    [line] = [line for line in table if "is 1 \\| one" in line]
    assert line.count("reproduced") == 1  # all together it is the same
    verdicts = read(results / "tables/all_papers/scoreboard.csv")["verdict"].tolist()
    assert verdicts == ["reproduced", "larger", "negligible"]


def test_index_shows_figure_and_table_with_the_caption_of_their_rule(results):
    index = (results / "index.md").read_text("utf-8")
    assert "(tables/scan_snap/t.md)" in index and "What it shows." in index
    assert 'src="figures/all_papers/scoreboard.png"' in index
    assert "Articles by people" in index
    summary = (results / "summary.txt").read_text("utf-8").splitlines()
    assert len(summary) <= 15
    lines = [" ".join(line.split()) for line in summary]
    assert "printed number 1 0 0 0 0" in lines and "stand-in 0 1 0 0 0" in lines
    assert "Scan and Snap 1 0 0 0 0" in lines  # of the papers' own
    assert (results / "settings.yaml").read_text("utf-8") == "portable: false\nthreads: 1\n"
