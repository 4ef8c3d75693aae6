"""Claims about what is written last: the manifest and the index."""

import base64
import io
import json
import os
import re
import subprocess
from pathlib import Path

import pandas as pd
import pytest
from PIL import Image

from onelayer import manifest
from onelayer.errors import OnelayerError
from onelayer.index import count_verdicts, index_page, shown_counts, summary
from onelayer.manifest import build_manifest, read_records, verify_manifest
from onelayer.overview import overview_page
from onelayer.provenance import REPOSITORY, file_sha256
from onelayer.tables import VALUE_COLUMNS

CAPTIONS = sorted((REPOSITORY / "workflow/report").glob("*_*.rst"))


@pytest.fixture
def results(tmp_path, monkeypatch):
    """Two steps: `fit` made model.bin, `tabulate` made table.csv from it."""
    monkeypatch.chdir(tmp_path)
    Path("model.bin").write_bytes(b"model")
    Path("table.csv").write_text("a\n1\n")
    records = []
    for step, source, target in (
        ("fit", {}, "model.bin"),
        ("tabulate", {"model.bin": file_sha256(Path("model.bin"))}, "table.csv"),
    ):
        record = {
            "step": step,
            "settings": {"of": step},
            "code": f"digest of {step}",
            "libraries": "numpy 2",
            "device": "cpu",
            "inputs": source,
            "outputs": {target: file_sha256(Path(target))},
        }
        path = Path(f"{step}.json")
        path.write_text(json.dumps(record))
        records.append(path)
    return read_records(records)


def test_a_manifest_names_every_step_that_led_to_a_result(results) -> None:
    entry = build_manifest([Path("table.csv")], results)["results"]["table.csv"]
    assert entry["sha256"] == file_sha256(Path("table.csv"))
    assert [step["step"] for step in entry["steps"]] == ["tabulate", "fit"]
    assert entry["steps"][1]["settings"] == {"of": "fit"}
    assert entry["steps"][1]["code"] == "digest of fit"


def test_a_result_without_a_record_or_changed_since_is_refused(results) -> None:
    with pytest.raises(OnelayerError, match=r"other\.csv: no step"):
        build_manifest([Path("other.csv")], results)
    Path("table.csv").write_text("a\n2\n")
    with pytest.raises(OnelayerError, match=r"table\.csv: changed since"):
        build_manifest([Path("table.csv")], results)


def test_records_of_steps_that_made_other_bytes_are_passed_over(results, tmp_path) -> None:
    made = {"outputs": {"model.bin": "0" * 64}, "inputs": {}}
    kept = ("settings", "code", "libraries", "device")
    stale = made | {"step": "fit_before"} | dict.fromkeys(kept, "")
    path = tmp_path / "fit_before.json"
    path.write_text(json.dumps(stale))
    records = read_records([path, Path("fit.json"), Path("tabulate.json")])
    entry = build_manifest([Path("table.csv")], records)["results"]["table.csv"]
    assert [step["step"] for step in entry["steps"]] == ["tabulate", "fit"]


def test_of_two_records_of_the_same_bytes_the_newer_counts(results) -> None:
    newer = json.loads(Path("fit.json").read_text()) | {"code": "digest of newer code"}
    Path("again.json").write_text(json.dumps(newer))
    for seconds, name in enumerate(("fit.json", "again.json")):
        os.utime(name, (seconds, seconds))
    records = read_records([Path("again.json"), Path("fit.json")])
    [step] = build_manifest([Path("model.bin")], records)["results"]["model.bin"]["steps"]
    assert step["code"] == "digest of newer code"


def test_a_commit_is_marked_where_tracked_files_differ_from_it(results, monkeypatch) -> None:
    own = ["-c", "user.name=test", "-c", "user.email=test@test"]
    for words in (["init"], ["add", "model.bin"], [*own, "commit", "-m", "one"]):
        subprocess.run(["git", *words], check=True, capture_output=True)
    monkeypatch.setattr(manifest, "REPOSITORY", Path.cwd())
    commit = build_manifest([], results)["commit"]
    assert len(commit) == 40
    Path("model.bin").write_bytes(b"edited")
    assert build_manifest([], results)["commit"] == commit + "+"


def test_verification_names_what_differs_and_what_is_missing(results, tmp_path) -> None:
    manifest = tmp_path / "manifest.json"
    manifest.write_text(json.dumps(build_manifest([Path("table.csv"), Path("model.bin")], results)))
    assert verify_manifest(manifest) == 2
    before = file_sha256(Path("table.csv"))
    Path("table.csv").write_text("a\n2\n")
    Path("model.bin").unlink()
    with pytest.raises(OnelayerError) as caught:
        verify_manifest(manifest)
    message = str(caught.value)
    assert "model.bin is missing" in message
    assert before in message
    assert file_sha256(Path("table.csv")) in message


@pytest.fixture
def counts() -> pd.DataFrame:
    """Verdicts of two tables."""
    verdicts = ["within", "within", "differs", "", "not run"]
    kinds = ["published", "published", "control", "", ""]
    columns = {"verdict": verdicts, "kind": kinds}
    table = pd.DataFrame(dict.fromkeys(VALUE_COLUMNS, "") | columns)
    return shown_counts({"t": count_verdicts(table), "s": count_verdicts(table.tail(1))})


def test_the_index_counts_verdicts_and_links_every_form(counts) -> None:
    tables = dict.fromkeys(map(Path, ("tables/p/t.csv", "tables/p/s.csv")), "Line 1.")
    figures = dict.fromkeys(map(Path, ("figures/p/f.png", "animations/p/m.gif")), "Line 2.")
    text = index_page(counts, tables, figures)
    counted = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines()]
    assert [cells for cells in counted if len(cells) == 8][2:] == [
        ["all tables", "published", "2", "0", "0", "0", "0", "0"],
        ["all tables", "theory", "0", "0", "0", "0", "0", "0"],
        ["all tables", "bound", "0", "0", "0", "0", "0", "0"],
        ["all tables", "control", "0", "0", "1", "0", "0", "0"],
        ["all tables", "claim", "0", "0", "0", "0", "0", "0"],
        ["all tables", "nothing", "0", "0", "0", "0", "0", "2"],
        ["t", "published", "2", "0", "0", "0", "0", "0"],
        ["t", "control", "0", "0", "1", "0", "0", "0"],
        ["t", "nothing", "0", "0", "0", "0", "0", "1"],
        ["s", "nothing", "0", "0", "0", "0", "0", "1"],
    ]
    assert "random weights" in text
    assert text.count("Line 1.") == text.count("Line 2.") == 2
    links = re.findall(r"\]\((.*?)\)", text)
    assert sorted(links) == sorted(
        ["findings.md", "animations/p/m.gif", "animations/p/m.png"]
        + ["figures/p/f.pdf", "figures/p/f.png"]
        + [f"tables/p/{name}.{form}" for name in "ts" for form in ("csv", "md", "tex", "html")]
    )
    assert re.findall(r'<img src="(.*?)"', text) == ["figures/p/f.png", "animations/p/m.gif"]


def test_the_report_opens_on_findings_counts_and_small_figures(counts, tmp_path) -> None:
    figure = tmp_path / "f.png"
    Image.new("RGB", (1400, 900), "white").save(figure)
    findings = "# Findings\n\n- **Does not hold.** <!-- finding: a -->**2 of 3** <!-- end -->"
    findings += "([t](tables/p/t.md))\n"
    text = overview_page(findings, counts, [(figure, "figures/p/f.png", "Line <2>.")])
    assert '<span class="verdict differs">✕ Does not hold</span>' in text
    assert "<strong>2 of 3</strong>" in text and 'href="tables/p/t.html"' in text
    assert text.count("<tr>") == 1 + len(counts)
    assert "Line &lt;2&gt;." in text and 'href="figures/p/f.png"' in text
    [image] = re.findall(r'<img src="data:image/png;base64,(.*?)"', text)
    with Image.open(io.BytesIO(base64.b64decode(image))) as small:
        assert small.size == (480, 309)


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
