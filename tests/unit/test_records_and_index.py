"""Claims about what steps record, and about what is written last: the index."""

import base64
import io
import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from PIL import Image

from onelayer.errors import OnelayerError
from onelayer.evidence.pages import Link
from onelayer.evidence.tables import VALUE_COLUMNS
from onelayer.report import records
from onelayer.report.crate.metadata import METADATA, Contents, describe
from onelayer.report.crate.verification import main as verify
from onelayer.report.index import SCOREBOARD, count_rows, index_page
from onelayer.report.overview import overview_page
from onelayer.report.records import read_records, steps_behind
from onelayer.report.registry import summary
from onelayer.run.provenance import REPOSITORY, file_sha256

CAPTIONS = sorted((REPOSITORY / "workflow/report").glob("*_*.rst"))


TABLE = "results/tables/p/t.csv"
TOPICS = "results/topics/lda"
HOLDS = "1 tables and figures hold, and 1 files that led to them"


def record(step: str, inputs: dict[str, str], *outputs: str, **more: str) -> Path:
    """Write what a step says about itself after it has written these files."""
    kept = {"settings": {"of": step}, "code": f"digest of {step}", "libraries": "numpy 2"}
    sums = {name: file_sha256(Path(name)) for name in outputs}
    written = {"step": step, "device": "cpu", "inputs": inputs, "outputs": sums} | kept | more
    path = Path(f"results/records/{step}.json")
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(written))
    return path


def fit(text: str, **more: str) -> None:
    """`fit` makes topics of a source that no step made."""
    Path(TOPICS).write_text(text)
    record("fit", {"articles.txt": "0" * 64}, TOPICS, **more)


def tabulate(text: str, **more: str) -> None:
    """`tabulate` makes a table of topics as they are."""
    Path(TABLE).write_text(text)
    record("tabulate", {TOPICS: file_sha256(Path(TOPICS))}, TABLE, **more)


def write_crate() -> list[dict]:
    """Describe the run as its last step does; the steps behind its table, nearest first."""
    found = {TABLE: file_sha256(Path(TABLE))}
    steps = steps_behind(found, read_records(Path("results")))
    crate = Contents(Path("results"), found, steps, None, found)
    Path("results", METADATA).write_bytes(describe(crate))
    return steps


@pytest.fixture
def results(tmp_path, monkeypatch) -> Path:
    """A run of two steps: `fit` made topics, `tabulate` a table of them."""
    monkeypatch.chdir(tmp_path)
    for file in (TABLE, TOPICS):
        Path(file).parent.mkdir(parents=True)
    fit("topics")
    tabulate("a\n1\n")
    return Path("results")


def refusal(check: Callable[[], object]) -> str:
    with pytest.raises(OnelayerError) as caught:
        check()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_every_step_that_led_to_a_result_is_behind_it(results) -> None:
    steps = write_crate()
    assert [step["step"] for step in steps] == ["tabulate", "fit"]
    assert steps[1]["settings"] == {"of": "fit"}
    assert steps[1]["code"] == "digest of fit"


def test_a_result_without_a_record_or_changed_since_is_refused(results) -> None:
    made = file_sha256(Path(TABLE))
    Path(TABLE).write_text("a\n2\n")
    for check in (write_crate, lambda: verify(results)):
        line = refusal(check)
        now = file_sha256(Path(TABLE))
        assert f"{TABLE}: not what tabulate wrote: expected sha256 {made}, found {now}" in line
        assert line.endswith(f"with --forcerun {TABLE}")
    Path("results/records/tabulate.json").unlink()
    for check in (write_crate, lambda: verify(results)):
        assert f"{TABLE}: no step recorded that it made this file" in refusal(check)


def test_a_file_among_the_tables_that_no_step_made_is_named(results) -> None:
    write_crate()
    Path("results/tables/p/mine.csv").touch()
    assert "results/tables/p/mine.csv: no step recorded" in refusal(lambda: verify(results))


def test_what_was_made_of_edited_files_is_no_result(results) -> None:
    made = file_sha256(Path(TOPICS))
    Path(TOPICS).write_text("by hand")
    edited = file_sha256(Path(TOPICS))
    tabulate("a\n3\n")
    why = f"{TOPICS}: not what fit wrote: expected sha256 {made}, "
    line = refusal(write_crate)
    assert f"{why}tabulate read {edited}" in line and line.endswith(f"--forcerun {TOPICS}")
    assert f"{why}found {edited}" in refusal(lambda: verify(results))

    Path(TOPICS).write_text("topics")  # as if nothing had been
    for check in (write_crate, lambda: verify(results)):
        assert f"{why}tabulate read {edited}" in refusal(check)
    tabulate("a\n1\n")
    write_crate()
    assert verify(results) == HOLDS


def test_what_was_made_of_a_file_without_a_record_is_no_result(results) -> None:
    write_crate()
    Path("results/records/fit.json").unlink()
    for check in (write_crate, lambda: verify(results)):
        assert f"{TOPICS}: no step recorded that it made this file" in refusal(check)


def test_what_earlier_settings_left_behind_does_no_harm(results) -> None:
    stale = Path("results/tables/p/of_a_model_that_is_gone.csv")
    stale.touch()
    record("tabulate_it", {TOPICS: file_sha256(Path(TOPICS))}, str(stale))
    fit("new topics")
    tabulate("a\n4\n")
    assert {path for step in write_crate() for path in step["outputs"]} == {TABLE, TOPICS}
    assert verify(results) == HOLDS.replace("1", "2", 1)


def test_what_earlier_settings_left_behind_is_counted_in_a_part_of_a_run(results) -> None:
    """It read what was made again since; of what was edited between, no step says that."""
    stale = "results/tables/p/of_a_model_that_is_gone.csv"
    Path(stale).touch()
    topics = {TOPICS: file_sha256(Path(TOPICS))}
    record("tabulate_it", topics, stale, started="2026-01-01T00:00:00")
    fit("new topics", started="2026-01-02T00:00:00")
    tabulate("a\n4\n", started="2026-01-03T00:00:00")
    said = "1 files that led to them; 1 of them of earlier settings, made of what was made again"
    assert said in verify(results)
    record("tabulate_it", topics, stale, started="2026-01-03T00:00:00")
    assert f"{TOPICS}: not what fit wrote" in refusal(lambda: verify(results))


def test_a_table_that_a_record_names_and_that_is_not_there_is_missed(results) -> None:
    """In a part of a run; of a whole one the crate says what belongs to it."""
    other = Path("results/tables/p/other.csv")
    other.touch()
    record("tabulate_more", {TOPICS: file_sha256(Path(TOPICS))}, str(other))
    assert verify(results).startswith("2 tables and figures hold")
    other.unlink()
    line = refusal(lambda: verify(results))
    assert line.startswith(f"{other}: tabulate_more made it, and it is not there")
    Path("results/records/tabulate_more.json").unlink()
    assert verify(results).startswith(HOLDS)


def test_topics_that_were_cleared_away_are_not_missed(results) -> None:
    write_crate()
    Path(TOPICS).unlink()
    assert verify(results) == HOLDS.replace("and 1", "and 0")


def test_of_two_records_of_the_same_bytes_the_newer_counts(results) -> None:
    newer = record("fit_again", {}, TOPICS)
    for first, second in ((0, 1), (1, 0)):
        os.utime("results/records/fit.json", (first, first))
        os.utime(newer, (second, second))
        assert write_crate()[1]["step"] == ("fit_again" if second else "fit")


@pytest.mark.parametrize("text", ["", "[]", '{"outputs": {}}', '{"outputs": []}'])
def test_a_broken_record_is_named(results, text) -> None:
    Path("results/records/fit.json").write_text(text)
    line = refusal(lambda: verify(results))
    assert line.startswith("results/records/fit.json: not what a step writes about itself")


def test_a_record_that_goes_away_meanwhile_is_that_of_a_step_that_runs_again(results) -> None:
    known = read_records(results).steps
    Path("results/records/going.json").symlink_to("gone.json")
    assert read_records(results).steps == known


def test_of_many_files_the_line_names_a_few(results) -> None:
    for number in range(11):
        Path(f"results/tables/p/{number}.csv").touch()
    line = refusal(lambda: verify(results))
    assert line.count("no step recorded") == 10 and "; and 1 more. " in line
    assert line.endswith("with --forceall")


def test_a_commit_is_marked_where_tracked_files_differ_from_it(results, monkeypatch) -> None:
    own = ["-c", "user.name=test", "-c", "user.email=test@test"]
    for words in (["init"], ["add", TOPICS], [*own, "commit", "-m", "one"]):
        subprocess.run(["git", *words], check=True, capture_output=True)
    monkeypatch.setattr(records, "REPOSITORY", Path.cwd())
    assert len(commit := records.commit()) == 40
    Path(TOPICS).write_bytes(b"edited")
    assert records.commit() == commit + "+"
    # What is installed somewhere in it is none of its files.
    assert records.commit(Path.cwd() / "results") is None


def test_a_part_of_a_run_is_verified_by_its_records(results) -> None:
    assert "hold" in verify(results)
    assert verify(results).endswith("the command for all results describes it as a crate")
    Path(TABLE).write_text("edited")
    assert TABLE in refusal(lambda: verify(results))


def test_a_folder_without_tables_and_figures_is_refused(tmp_path) -> None:
    assert "no tables and no figures here" in refusal(lambda: verify(tmp_path))


def test_verification_names_what_the_crate_has_otherwise_and_what_is_missing(results) -> None:
    write_crate()
    before = file_sha256(Path(TABLE))
    tabulate("a\n5\n")  # a table alone, of new settings
    has = f"{TABLE}: the crate has sha256 {before}, found "
    assert f"{has}{file_sha256(Path(TABLE))}" in refusal(lambda: verify(results))
    Path(TABLE).unlink()
    assert f"{has}no file" in refusal(lambda: verify(results))


@pytest.fixture
def counts() -> pd.DataFrame:
    """Verdicts of two tables of a paper, one of another, and the scoreboard that restates them."""
    verdicts = ["reproduced", "reproduced", "opposite", "", "not run"]
    kinds = ["published", "analogue", "control", "", "published"]
    columns = {"verdict": verdicts, "kind": kinds}
    table = pd.DataFrame(dict.fromkeys(VALUE_COLUMNS, "") | columns)
    names = ("scan_snap/t", "scan_snap/s", "decision_lists/t", SCOREBOARD)
    return count_rows(dict(zip(names, (table, table.tail(1), table.head(1), table), strict=True)))


FINDINGS = (
    "# Findings\n\n| paper | larger |\n|:---|:---|\n| P | 1 |\n\n## What did not\n\n### P\n\n"
    "- **Opposite.** <!-- finding: a -->**2 of 3** <!-- end -->([t](tables/scan_snap/t.md))\n\n"
    "## What did\n\n### P\n\n- **Reproduced.** 4 of 5\n"
)
CLAIMS = pd.DataFrame(
    {"claim": ["it < grows"], "verdict": ["smaller (31% of the effect)"]}
    | {"table": [Link("t", "tables/scan_snap/t")]}
)


def test_rows_are_counted_by_paper_with_analogues_and_controls_apart(counts) -> None:
    shown = counts[["paper", "rows", "reproduced", "opposite", "not run"]].to_numpy().tolist()
    assert shown == [
        ["Scan and Snap", "3", "1", "0", "2"],
        ["Decision lists", "1", "1", "0", "0"],
        ["Scan and Snap: analogues", "1", "1", "0", "0"],
        ["Scan and Snap: controls", "1", "0", "1", "0"],
    ]


def test_the_index_opens_with_the_score_and_has_each_papers_figure_beside_its_table(counts) -> None:
    tables = {Path(f"tables/scan_snap/{name}.csv"): f"Table {name}." for name in "ts"}
    figures = {
        Path("figures/scan_snap/t.png"): "Figure t.",
        Path("animations/decision_lists/m.gif"): "It moves.",
    }
    text = index_page(FINDINGS, counts, tables, figures)
    parts = ["# Results", "| P ", "2 of 3", "## Scan and Snap", "## Decision lists", "## Verdicts"]
    assert [text.index(part) for part in parts] == sorted(text.index(part) for part in parts)
    assert "4 of 5" not in text and "[findings.md](findings.md)" in text
    [both] = [line for line in text.splitlines() if line.startswith("| **t**")]
    assert "Table t." in both and '<img src="figures/scan_snap/t.png"' in both
    links = re.findall(r"\]\((.*?)\)", both)
    assert links == [
        *(f"tables/scan_snap/t.{form}" for form in ("csv", "md", "tex", "html")),
        *(f"figures/scan_snap/t.{form}" for form in ("pdf", "png")),
    ]
    assert re.findall(r'<img src="(.*?)"', text)[-1] == "animations/decision_lists/m.gif"


def test_the_report_opens_on_the_score_and_what_did_not_reproduce(counts, tmp_path) -> None:
    figure = tmp_path / "f.png"
    Image.new("RGB", (1400, 900), "white").save(figure)
    text = overview_page(FINDINGS, CLAIMS, counts, [(figure, "figures/p/f.png", "Line <2>.")])
    assert '<li><span class="verdict opposite">✕ opposite</span> <strong>2 of 3' in text
    assert ">↑ <span>larger</span></th>" in text
    assert "<td>P</td>" in text.replace(' style="text-align:left"', "")
    places = [text.index(part) for part in (">P<", "2 of 3", "4 of 5", "it &lt; grows")]
    assert places == sorted(places)
    # All but the score and what did not reproduce is read after a click.
    assert text.index("2 of 3") < text.index("<details>") < text.index("4 of 5")
    assert '<a href="tables/scan_snap/t.html">t</a>' in text and "↓ smaller</span> (31%)" in text
    assert "Line &lt;2&gt;." in text and 'href="figures/p/f.png"' in text
    [image] = re.findall(r'<img src="data:image/png;base64,(.*?)"', text)
    with Image.open(io.BytesIO(base64.b64decode(image))) as small:
        assert small.size == (360, 231)


def test_the_line_in_the_index_is_the_first_paragraph_of_the_caption(tmp_path) -> None:
    caption = tmp_path / "figure_x.rst"
    caption.write_text("Ours (Tian\net al. 2023, Fig. 4), ``x``:\nthey gain.\n\nMore.\n")
    assert summary(caption) == "Ours (Tian et al. 2023, Fig. 4), `x`: they gain."
    caption.write_text("Ours,\n\nand theirs.\n")
    with pytest.raises(OnelayerError, match=r"figure_x\.rst: the first paragraph ends in 'Ours,'"):
        summary(caption)


@pytest.mark.parametrize("caption", CAPTIONS, ids=lambda path: path.stem)
def test_the_first_paragraph_of_every_caption_is_a_whole_sentence(caption) -> None:
    line = summary(caption)
    assert line[0].isupper() and 20 < len(line) < 300
    assert line.count("(") == line.count(")")
    assert line.endswith((".", "?")) and not line.endswith(("et al.", "Fig.", "Sec.", "Eq."))
