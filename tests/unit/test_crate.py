"""Claims about a run that is handed on: its metadata, its zip, strangers' zips, what to cite."""

import hashlib
import json
import math
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import tracemalloc
import zipfile
from pathlib import Path
from urllib.parse import unquote

import pandas as pd
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rocrate_validator import services
from rocrate_validator.models import Severity, ValidationSettings

from onelayer import __version__
from onelayer.__main__ import main as onelayer
from onelayer.errors import OnelayerError
from onelayer.evidence.tables import tidy, write_csv
from onelayer.papers.findings import CLAIMS
from onelayer.papers.works import WORKS, Work
from onelayer.report.crate import again, citation, packing, verification
from onelayer.report.crate.archive import LARGEST, SUMS, seal, unpack_archive
from onelayer.report.crate.citation import bibtex
from onelayer.report.crate.code import COMMIT, code_of_checkout, proven_commit
from onelayer.report.crate.described import read_metadata
from onelayer.report.crate.metadata import METADATA, PREVIEW, Contents, describe
from onelayer.report.crate.predictions import FILE, read_predictions
from onelayer.report.records import RECORDED, Records, read_records, read_unmade, steps_behind
from onelayer.run.provenance import REPOSITORY, file_sha256
from onelayer.settings.kept import keep_settings
from tests.crates import (
    PUBLISHED,
    ROWS,
    SETTINGS,
    TABLE,
    cache_of_context,
    checkout,
    entry,
    git,
    make_run,
    record,
    rezip,
    write,
)

# What is left at RECOMMENDED, and why.
LEFT = {
    "process-run-crate-0.5_5.1": "asks the class itself, not its entities, for an absolute URI",
    "process-run-crate-0.5_8.6": "who ran it is nowhere recorded, and not invented",
    "ro-crate-1.1_22.2": "the same: the crate's author is whoever hands it on",
    "ro-crate-1.1_22.3": "the publisher is the archive that takes it",
    "ro-crate-1.1_30.2": "affiliations of the papers' authors are not declared here",
    "ro-crate-1.1_30.3": "the same",
    "ro-crate-1.1_31.2": "a corpus's authors are named without an address",
}


@pytest.fixture(scope="module")
def repository(tmp_path_factory) -> Path:
    return checkout(tmp_path_factory.mktemp("repository"))


@pytest.fixture
def run(repository, monkeypatch) -> Path:
    """A run of the repository; the working directory is where it ran."""
    (repository / "runs").mkdir(exist_ok=True)
    monkeypatch.chdir(tempfile.mkdtemp(dir=repository / "runs"))
    return make_run(repository)


@pytest.fixture(scope="module")
def packed(repository, tmp_path_factory) -> Path:
    """An archive of the run that many tests read."""
    with pytest.MonkeyPatch.context() as patch:
        place = repository / "runs/packed"
        place.mkdir(parents=True)
        patch.chdir(place)
        target = tmp_path_factory.mktemp("packed") / "run.zip"
        packing.main(make_run(repository), target, root=repository)
        return target


def refusal(check) -> str:
    with pytest.raises(OnelayerError) as caught:
        check()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def pack(repository: Path, target: Path = Path("run.zip"), **options) -> Path:
    said = packing.main(Path("results"), target.resolve(), root=repository, **options)
    assert said.splitlines()[-1] == str(target.resolve())
    return target.resolve()


# The zip


def test_the_same_run_is_the_same_bytes_and_what_it_holds_is_what_was_made(run, repository) -> None:
    first = pack(repository).read_bytes()
    target = pack(repository)
    assert target.read_bytes() == first
    with zipfile.ZipFile(target) as archive:
        names = set(archive.namelist())
        assert archive.read("tables/scan_snap/claims.csv").decode() == ROWS
        assert json.loads(archive.read("settings.json")) == SETTINGS
        assert not any("lda.npz" in name or "corpus" in name for name in names)
        assert {f"code/{PUBLISHED}", "code/Snakefile", PREVIEW, METADATA, SUMS, COMMIT} <= names
    said = verification.main(target)
    assert "1 files of 3 steps hold" in said and said.splitlines()[0].endswith("; portable")


def test_data_is_inside_only_where_it_is_asked_for(run, repository) -> None:
    with zipfile.ZipFile(pack(repository, with_data=True)) as archive:
        assert archive.read("topics/a b/lda.npz") == b"\0topics"
    assert "3 files of 3 steps hold" in verification.main(Path("run.zip"))


def test_sums_are_as_sha256sum_reads_them(packed, tmp_path) -> None:
    unpack_archive(packed, tmp_path / "run")
    command = ["sha256sum", "--quiet", "--check", SUMS]
    assert subprocess.run(command, cwd=tmp_path / "run").returncode == 0
    assert "hold" in verification.main(tmp_path / "run")


@pytest.mark.parametrize("path", [TABLE, "results/topics/a b/lda.npz"])
def test_a_run_whose_files_were_touched_later_is_not_packed(run, repository, path) -> None:
    Path(path).write_text("by hand")
    assert f"{path}: not what " in refusal(lambda: pack(repository))
    assert not Path("run.zip").exists()


def test_no_file_that_the_archive_takes_from_the_run_can_be_edited_unseen(run, repository) -> None:
    """One that it does not name as made by a step is made while it is packed, of such files."""
    pages = [write(f"results/{page}", page) for page in (*packing.PAGES, "overview.html")]
    record(repository, "make_table", [TABLE], pages)
    before = pack(repository).read_bytes()
    for path in [path for path in Path("results").rglob("*") if path.is_file()]:
        if path.parent.name == "records":  # what a run is compared with
            continue
        content = path.read_bytes()
        path.write_bytes(content + b" ")
        for check in (lambda: pack(repository), lambda: verification.main(Path("results"))):
            named = path.with_suffix(".json") if path.stem == "settings" else path
            assert f"{named}: " in refusal(check)
        path.write_bytes(content)
    Path("results/logs").mkdir()
    Path("results/logs/fit.log").write_text("WARNING by hand\n")
    assert pack(repository).read_bytes() == before


@pytest.mark.parametrize("name", ["settings.json", "settings.sha256"])
def test_settings_that_were_edited_or_lost_a_part_are_refused_and_kept_again(run, repository, name):
    place = run / name
    place.write_text(json.dumps(SETTINGS | {"models": {}}))
    for check in (pack, lambda _: verification.main(run), lambda _: citation.main([], run)):
        line = refusal(lambda check=check: check(repository))
        assert line.startswith("results/settings.json: edited") and "--forcerun" in line
    place.unlink()
    assert f"{name} does not exist" in refusal(lambda: verification.main(Path("results")))
    keep_settings(SETTINGS, Path("results"))
    pack(repository)


def test_a_run_of_other_code_than_the_commits_is_not_packed(run, repository) -> None:
    record(repository, "make_table", [], [TABLE], code="0" * 64)
    assert "make_table ran with other code than that of commit" in refusal(lambda: pack(repository))


def test_a_run_of_files_that_two_steps_knew_otherwise_is_not_packed(run, repository) -> None:
    write("results/topics/a b/lda.npz", b"new")
    record(repository, "fit", ["results/corpus/articles/source"], ["results/topics/a b/lda.npz"])
    write("results/figures/p/f.png", "x")
    record(repository, "fit", ["results/topics/a b/lda.npz"], ["results/figures/p/f.png"])
    assert "knew it with sha256" in refusal(lambda: pack(repository))


def test_a_run_without_a_commit_a_table_or_its_settings_is_not_packed(run, repository, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    line = refusal(lambda: packing.main(Path("results"), root=outside))
    assert "no git checkout" in line or "differ" in line
    Path("results/settings.json").unlink()
    assert "settings.json does not exist" in refusal(lambda: pack(repository))
    shutil.rmtree("results/tables")
    assert "no tables and no figures here" in refusal(lambda: pack(repository))


def test_a_run_of_a_source_that_is_not_the_commits_is_not_packed(run, repository) -> None:
    source = repository / PUBLISHED
    committed = source.read_bytes()
    source.write_text("by hand")
    record(repository, "make_table", [f"../../{PUBLISHED}"], [TABLE])
    source.write_bytes(committed)
    line = refusal(lambda: pack(repository))
    assert f"{PUBLISHED}: make_table knew it with sha256 " in line and ", the commit with " in line


def test_edited_code_is_not_packed(tmp_path, monkeypatch) -> None:
    root = checkout(tmp_path)
    (root / "scripts/fit.py").write_text("# edited\n")
    assert "tracked files differ from commit" in refusal(lambda: code_of_checkout(root))


def test_sources_of_a_users_own_tell_nothing_of_the_machine(run, repository, tmp_path) -> None:
    own = tmp_path / "home" / "my corpus.txt"
    own.parent.mkdir()
    own.write_text("mine")
    warned = {"warnings": ["WARNING ./x is slow"]}
    record(repository, "fit", [str(own)], ["results/topics/a b/lda.npz"], **warned)
    with zipfile.ZipFile(pack(repository)) as archive:
        assert str(tmp_path) not in archive.read(METADATA).decode()
        assert "my corpus.txt" in archive.read(METADATA).decode()
        said = archive.read("warnings.txt").decode()
        assert said == "fit results/topics/a b/lda.npz: WARNING ./x is slow\n"
    assert "hold" in verification.main(Path("run.zip"))


# Its metadata


def test_the_profiles_find_nothing_that_is_required_and_the_rest_has_its_reason(
    packed, tmp_path
) -> None:
    unpack_archive(packed, tmp_path / "run")
    cache = cache_of_context(tmp_path / "cache.sqlite")
    found = services.validate(
        ValidationSettings(
            rocrate_uri=tmp_path / "run",
            profile_identifier="provenance-run-crate",  # and all those that it builds on
            requirement_severity=Severity.RECOMMENDED,
            offline=True,
            cache_path=cache,
            skip_availability_check=True,
        )
    )
    issues = {i.check.identifier: (i.severity, i.message) for i in found.get_issues()}
    assert not [issue for issue in issues.values() if issue[0] == Severity.REQUIRED]
    assert issues.keys() <= LEFT.keys(), issues
    checked = {check.identifier.rpartition("_")[0] for check in found.executed_checks}
    assert {"ro-crate-1.1", "workflow-ro-crate-1.0", "process-run-crate-0.5"} <= checked
    assert {"workflow-run-crate-0.5", "provenance-run-crate-0.5"} <= checked
    assert not found.skipped_checks


def test_metadata_reads_back_as_the_records_that_it_was_written_from(run, tmp_path) -> None:
    records = read_records(run)
    found = {TABLE: file_sha256(Path(TABLE))}
    steps = steps_behind(found, records)
    place = tmp_path / METADATA
    place.write_bytes(describe(Contents(run, found, steps, "c" * 40, found)))
    described = read_metadata(place)
    source = steps[0]["inputs"].pop(f"../../{PUBLISHED}")
    steps[0]["inputs"][f"sources/{source[:12]}/published.csv"] = source
    assert described.steps == steps
    assert described.results == found and described.commit == "c" * 40


def test_what_many_steps_share_is_said_once(run, repository) -> None:
    """The default run has 343 steps; its metadata stays under 1 MB."""
    long, files = {"models": ["a name " * 30]}, {}
    for n in range(50):
        path = write(f"results/figures/p/{n}.png", str(n))
        more = {"settings": long | {"seed": n}}
        record(repository, "make_table", ["results/topics/a b/lda.npz"], [path], **more)
        files[path] = file_sha256(Path(path))
    steps = steps_behind(files, read_records(run))
    said = describe(Contents(run, files, steps, "c" * 40, {})).decode()
    for once in (long["models"][0], "results/topics/a b/lda.npz", "MKL_CBWR", "numpy/2.4.6"):
        assert said.count(once) == 1
    assert len(said) < 52 * 1200


def test_an_action_names_what_decided_it_and_works_their_authors(packed, tmp_path) -> None:
    unpack_archive(packed, tmp_path / "run")
    graph = json.loads((tmp_path / "run" / METADATA).read_text())["@graph"]
    by_id = {entity["@id"]: entity for entity in graph}
    action = by_id["#steps/tables/scan_snap/claims.csv"]
    tool = by_id[action["instrument"]["@id"]]
    libraries = [by_id[e["@id"]]["name"] for e in tool["softwareRequirements"]]
    assert tool["name"] == "make_table" and libraries == ["python", "numpy"]
    read = [by_id[e["@id"]] for e in action["object"]]
    assert [e["name"] for e in read] == ["results/topics/a b/lda.npz", "published.csv", "settings"]
    assert "sha256" in read[0] and read[0]["@type"] == "CreativeWork"
    assert read[1]["description"] == "Tian et al. (2023), Figure 6"
    assert action["startTime"] < action["endTime"]
    assert json.loads(by_id[action["environment"]["@id"]]["value"])["MKL_CBWR"] == "COMPATIBLE"
    cited = [by_id[e["@id"]] for e in by_id["./"]["citation"]]
    assert [work["name"] for work in cited] == [WORKS["scan_snap"].title, "Lead sections & more"]
    assert by_id[cited[0]["author"][0]["@id"]]["name"] == "Tian, Yuandong"
    assert cited[1]["license"]["@id"].endswith("/CC-BY-SA-4.0") and "pypi.org" in cited[1]["url"]
    files = [unquote(e["@id"]) for e in graph if e["@type"] == "File"]
    assert all((tmp_path / "run" / name).is_file() for name in files)


def test_the_preview_is_the_first_page_of_the_report_as_its_step_left_it(run, repository) -> None:
    page = write("results/overview.html", "<p>by hand</p>")
    with zipfile.ZipFile(pack(repository)) as archive:
        assert b"by hand" not in archive.read(PREVIEW)
    write(page, "<p>by its step</p>")
    record(repository, "make_table", [TABLE], [write("results/index.md", "x"), page])
    with zipfile.ZipFile(pack(repository)) as archive:
        assert archive.read(PREVIEW) == b"<p>by its step</p>"
    write(page, "<p>by hand</p>")
    assert f"{page}: not what make_table wrote" in refusal(lambda: pack(repository))


def test_the_preview_runs_nothing_and_lists_what_there_is(run, repository) -> None:
    odd = "results/tables/p/<img src=x onerror=alert(1)>.csv"
    write(odd, "a\n")
    record(repository, "fit", [], [odd])
    with zipfile.ZipFile(pack(repository)) as archive:
        text = archive.read(PREVIEW).decode()
    assert "<img src=x" not in text and "&lt;img src=x" in text
    assert "//" not in re.sub(r"<style>.*?</style>|<script>.*?</script>", "", text, flags=re.S)


# Strangers' archives


def _metadata(change):
    """A stranger who edits the metadata and puts the sums right."""

    def edit(files: dict[str, bytes]) -> dict[str, bytes]:
        graph = json.loads(files[METADATA])
        change({e["@id"]: e for e in graph["@graph"]}, graph["@graph"])
        return _summed(files | {METADATA: json.dumps(graph).encode()})

    return edit


def _summed(files: dict) -> dict:
    lines = [f"{hashlib.sha256(c).hexdigest()}  {n}\n" for n, c in files.items() if n != SUMS]
    return files | {SUMS: "".join(lines).encode()}


STEP, LDA = "#steps/tables/scan_snap/claims.csv", "#steps/topics/a%20b/lda.npz"
TABLE_ID = {"@id": "tables/scan_snap/claims.csv"}


def _tool(by_id: dict) -> dict:
    """What says which script made the table, and with which code."""
    return by_id[by_id[STEP]["instrument"]["@id"]]


OUTSIDE = {"@id": "../outside", "@type": "File", "name": "x", "sha256": "0" * 64}
METADATA_FAULTS = {
    "a cycle": (
        lambda by_id, _: by_id[LDA]["object"].append(TABLE_ID),
        "would have read what came of it",
    ),
    "no file": (
        lambda by_id, _: by_id[STEP].update(result={"@id": "tables/scan_snap/gone.csv"}),
        "not what `onelayer pack` writes",
    ),
    "a hole": (
        lambda by_id, graph: graph.remove(by_id[LDA]),
        "results/topics/a b/lda.npz: no step recorded that it made this file",
    ),
    "not made": (
        lambda by_id, graph: graph.remove(by_id[STEP]),
        "results/tables/scan_snap/claims.csv: no step recorded",
    ),
    "other code": (
        lambda by_id, _: _tool(by_id).update(softwareVersion="0" * 64),
        "make_table ran with other code",
    ),
    "an odd step": (
        lambda by_id, _: _tool(by_id).update(name="../../../$(touch x)"),
        "is no name of a step",
    ),
    "other published numbers": (
        lambda by_id, _: by_id[f"code/{PUBLISHED}"].update(sha256="0" * 64),
        "published.csv: ",
    ),
    "leads out": (lambda _, graph: graph.append(OUTSIDE), "../outside: "),
    "twice": (lambda by_id, graph: graph.append(dict(by_id[STEP])), "two entities are"),
    "two makers": (
        lambda by_id, graph: graph.append(by_id[STEP] | {"@id": "#steps/other"}),
        "two steps made the same file",
    ),
}


HOSTILE = "</script><script>alert(1)</script>$(touch evil);`touch evil`\n\x1b[2J{input}../.."


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_hostile_text_in_any_field_is_at_most_one_line_and_runs_nothing(
    packed, tmp_path_factory, data
) -> None:
    place = tmp_path_factory.mktemp("hostile")

    def change(by_id, graph):
        entity = data.draw(st.sampled_from(graph))
        texts = [key for key, value in entity.items() if isinstance(value, str)]
        entity[data.draw(st.sampled_from(texts))] = HOSTILE

    forged = rezip(packed, place / "forged.zip", _metadata(change))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        try:
            said = verification.main(forged)
        except OnelayerError as error:
            assert "\n" not in str(error) and "\x1b" not in str(error)
        else:
            assert "\x1b" not in said and "<script>" not in said
    assert [path.name for path in place.iterdir()] == ["forged.zip"]


@pytest.mark.parametrize("fault", METADATA_FAULTS)
def test_metadata_that_contradicts_the_files_is_one_line(packed, tmp_path, fault) -> None:
    change, said = METADATA_FAULTS[fault]
    forged = rezip(packed, tmp_path / "forged.zip", _metadata(change))
    assert said in refusal(lambda: verification.main(forged))


GONE = "tables/scan_snap/claims.csv"
FILE_FAULTS = {
    "leaves the folder": ({"../evil": b"x"}, "leads out of its folder"),
    "leaves it from within": ({"tables/../../evil": b"x"}, "leads out of its folder"),
    "absolute": ({"/evil": b"x"}, "leads out of its folder"),
    "of Windows": ({"C:\\evil": b"x"}, "leads out of its folder"),
    "a link": ({"l": (entry("l", stat.S_IFLNK), b"/etc/passwd")}, "is a link, a device or"),
    "a device": ({"d": (entry("d", stat.S_IFCHR), b"")}, "is a link, a device or a folder"),
    "a folder": ({"f/": b""}, "leads out of its folder"),
    "differs in case": ({"TABLES/x": b"x"}, "differs from another folder in case alone"),
    "a file in case": ({"readme.MD": b"x"}, "is there twice, or differs"),
    "in Unicode": ({"tables/\xe9": b"x", "tables/e\u0301": b"y"}, "is there twice, or differs"),
    "a file and a folder": ({"tables": b"x"}, "is a file and a folder"),
    "steers a terminal": ({"tables/\x1b[2J": b"x"}, "is no name of a file"),
    "a bomb": ({"tables/b": bytes(1 << 28)}, "bytes would unpack to"),
    "deep metadata": ({METADATA: b'{"@graph":' + b"[" * 100_000}, "not what `onelayer pack`"),
    "large metadata": ({METADATA: b" " * (1 << 25)}, "bytes of metadata; at most"),
    "large sums": ({SUMS: b"0" * (1 << 25)}, "none as `onelayer pack` writes it"),
    "no metadata": ({METADATA: b"[]"}, "not what `onelayer pack` writes"),
    "metadata of another name": ({METADATA: None}, "not what `onelayer pack` writes"),
    "no table": ({GONE: None}, f"{GONE}: {METADATA} names it, and it is not there"),
    "a file nobody names": ({"tables/mine.csv": b"x"}, f"tables/mine.csv: {METADATA} does not"),
    "other code": ({"code/scripts/fit.py": b"evil()"}, "not the files of the commit"),
    "more code": ({"code/sitecustomize.py": b"evil()"}, "not the files of the commit"),
    "no commit": ({COMMIT: b"{}"}, "has sha256"),
}


@pytest.mark.parametrize("fault", FILE_FAULTS)
def test_an_archive_that_onelayer_did_not_write_is_one_line(packed, tmp_path, fault) -> None:
    files, said = FILE_FAULTS[fault]

    def change(found):
        plain = {n: c for n, c in files.items() if not isinstance(c, tuple)}
        left = {n: c for n, c in (found | plain).items() if c is not None}
        kept = found if fault == "a bomb" else _summed(left)
        return kept | {n: c for n, c in files.items() if c is not None}

    forged = rezip(packed, tmp_path / "forged.zip", change)
    before = set(tmp_path.parent.rglob("*"))
    tracemalloc.start()
    assert said in refusal(lambda: verification.main(forged))
    assert tracemalloc.get_traced_memory()[1] < 200 << 20
    tracemalloc.stop()
    assert before == set(tmp_path.parent.rglob("*")) and not Path("/evil").exists()


def test_what_memory_would_not_hold_is_not_read(tmp_path) -> None:
    with (tmp_path / COMMIT).open("wb") as file:
        file.truncate(1 << 30)
    assert "not the commit" in refusal(lambda: proven_commit(tmp_path, tmp_path / COMMIT))
    for place, text in (("run", "a," * 2000), ("reference", ROWS)):
        (tmp_path / place / "tables/p").mkdir(parents=True)
        (tmp_path / place / "tables/p/t.csv").write_text(text)
    line = refusal(lambda: verification.beside(tmp_path / "run", tmp_path / "reference"))
    assert "tables/p/t.csv: " in line and "1000 columns" in line
    with (tmp_path / "run/tables/p/t.csv").open("wb") as file:
        file.truncate(LARGEST + 1)
    line = refusal(lambda: verification.beside(tmp_path / "run", tmp_path / "reference"))
    assert f"tables/p/t.csv: {LARGEST + 1} bytes" in line


AS_KEPT = pd.DataFrame(
    {"model": ["a", "b"], "quantity": "ratio", "value": [1.0, 3.0], "low": [0.8, 2.0]}
    | {"high": [1.2, 4.0], "verdict": ["reproduced", "smaller"]}
)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (AS_KEPT.assign(value=[1.1, 2.9]), "0 the same bytes, 1 agree"),
        (AS_KEPT.assign(value=[2.0, 2.9]), "0 agree; of the others 1 moved (p/t)"),
        (
            AS_KEPT.assign(value=math.nan, low=math.nan, high=math.nan),
            "0 agree; of the others 1 with rows that only one run has (p/t), 1 not compared (p/t)",
        ),
        (
            AS_KEPT.assign(model=["c", "d"], value=[1000.0, 3000.0]),
            "0 agree; of the others 1 with rows that only one run has (p/t), 1 not compared (p/t)",
        ),
        (AS_KEPT.assign(verdict="opposite"), "0 agree; of the others 1 with other verdicts (p/t)"),
        (AS_KEPT.assign(verdict=""), "0 agree; of the others 1 with other verdicts (p/t)"),
        (AS_KEPT.head(1), "0 agree; of the others 1 with rows that only one run has (p/t)"),
        (
            AS_KEPT.rename(columns={"model": "family"}),
            "0 agree; of the others 1 with other columns (p/t)",
        ),
    ],
)
def test_a_table_agrees_only_where_rows_were_compared_and_none_stands_alone(
    tmp_path, changed, said
) -> None:
    for place, rows in (("run", changed), ("reference", AS_KEPT)):
        (tmp_path / place / "tables/p").mkdir(parents=True)
        write_csv(tidy(rows, [rows.columns[0]]), tmp_path / place / "tables/p/t.csv")
    line = verification.beside(tmp_path / "run", tmp_path / "reference")
    assert line.startswith("Beside the reference run, 1 tables: ") and line.endswith(said)
    folders = [tmp_path / "reference"] * 2
    assert verification.beside(*folders).endswith("1 the same bytes, 0 agree")


def test_a_chain_of_many_steps_is_walked_once() -> None:
    asked = []

    class Asked(Records):
        def refusal(self, path: str, found: str, reader: str = "") -> None:
            asked.append(path)

    records = Asked(Path("results"))
    for n in range(1000):
        rest = dict.fromkeys(RECORDED, "") | {"inputs": {f"results/{n - 1}": "x"}}
        records.add(rest | {"outputs": {f"results/{n}": "x"}})
    files = {f"results/{n}": "x" for n in range(1000)}
    assert len(records.before(files)) == 1000
    assert not read_unmade(files, records) and len(asked) == 1000


def test_two_entries_of_a_name_are_refused(packed, tmp_path) -> None:
    forged = shutil.copy(packed, tmp_path / "forged.zip")
    with zipfile.ZipFile(forged, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr(entry("README.md"), "another")
    seal(Path(forged))
    assert "is there twice" in refusal(lambda: verification.main(Path(forged)))


def test_a_million_entries_are_refused_before_anything_reads_them(tmp_path) -> None:
    place = tmp_path / "many.zip"
    directory = 1_000_000 * (46 + 8)
    end = b"PK\5\6" + bytes(4) + b"\xff\xff" * 2 + directory.to_bytes(4, "little") + bytes(4)
    with place.open("wb") as file:
        file.truncate(directory)
        file.seek(directory)
        file.write(end + bytes([64, 0]) + bytes(64))
    tracemalloc.start()
    assert "bytes of names" in refusal(lambda: verification.main(place))
    assert tracemalloc.get_traced_memory()[1] < 8 << 20
    tracemalloc.stop()


def test_a_file_that_is_longer_than_it_says_is_refused(packed, tmp_path) -> None:
    forged = rezip(packed, tmp_path / "forged.zip", lambda files: files | {"tables/b": bytes(9999)})
    content = bytearray(forged.read_bytes())
    # Its size before its content, and in the table of contents.
    for place in (content.index(b"tables/b") - 8, content.rindex(b"tables/b") - 22):
        assert content[place : place + 4] == (9999).to_bytes(4, "little")
        content[place : place + 4] = (9).to_bytes(4, "little")
    forged.write_bytes(content)
    seal(forged)
    assert "not a whole zip" in refusal(lambda: verification.main(forged))


@pytest.mark.parametrize("content", [b"", b"PK", b"no zip at all" * 9])
def test_what_is_no_zip_is_one_line(tmp_path, content) -> None:
    (tmp_path / "x.zip").write_bytes(content)
    assert "not a zip" in refusal(lambda: verification.main(tmp_path / "x.zip"))


def test_a_cut_archive_is_one_line(packed, tmp_path) -> None:
    content = packed.read_bytes()
    for end in range(0, len(content), len(content) // 7):
        (tmp_path / "cut.zip").write_bytes(content[:end])
        assert "zip" in refusal(lambda: verification.main(tmp_path / "cut.zip"))


def test_one_changed_byte_beside_the_files_is_found_as_well(packed, tmp_path) -> None:
    """Headers, the table of contents, and what no file needs, which other programs may read."""
    content = packed.read_bytes()
    with zipfile.ZipFile(packed) as archive:
        entries, begin = archive.infolist(), archive.start_dir
    first, last = (entries[n].header_offset for n in (0, -1))
    headers = {*range(first, first + 39), *range(last, last + 40)}
    forged = tmp_path / "forged.zip"
    for place in {*headers, *range(begin, len(content) - 64)}:
        one = bytearray(content)
        one[place] ^= 1
        forged.write_bytes(one)
        seal(forged)
        with pytest.raises(OnelayerError):
            unpack_archive(forged, tmp_path / "out")
    for more in (content + b"x", b"x" + content, content[:begin] + b"x" + content[begin:]):
        forged.write_bytes(more)
        seal(forged)
        assert "zip" in refusal(lambda: unpack_archive(forged, tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_one_changed_bit_anywhere_in_an_archive_is_found(packed, tmp_path) -> None:
    """Also where no file needs it, as in the last bits of a compressed one."""
    content, forged = bytearray(packed.read_bytes()), tmp_path / "forged.zip"
    step = len(content) // 500
    for place in (*range(0, len(content), step), *range(len(content) - 200, len(content))):
        bit = 1 << place % 8
        content[place] ^= bit
        forged.write_bytes(content)
        assert "zip" in refusal(lambda: unpack_archive(forged, tmp_path / "out"))
        content[place] ^= bit


@pytest.mark.parametrize(
    "change",
    [
        *(lambda sums, end=end: sums[:-1] + end for end in (b"\r", b"\x0b", b"\x1c", b"")),
        lambda sums: sums + sums.splitlines(keepends=True)[-1],
        lambda sums: sums + b"x",
    ],
    ids=["CR", "VT", "FS", "no end", "a line twice", "half a line more"],
)
def test_sums_of_other_lines_than_sha256sums_are_refused(packed, tmp_path, change) -> None:
    def edit(files: dict[str, bytes]) -> dict[str, bytes]:
        return files | {SUMS: change(files[SUMS])}

    forged = rezip(packed, tmp_path / "forged.zip", edit)
    assert SUMS in refusal(lambda: verification.main(forged))


@settings(max_examples=3, deadline=None)
@given(data=st.data())
def test_one_changed_byte_in_any_file_is_found(packed, tmp_path_factory, data) -> None:
    forged = tmp_path_factory.mktemp("byte") / "forged.zip"
    with zipfile.ZipFile(packed) as archive:
        sizes = {entry.filename: entry.file_size for entry in archive.infolist()}
    assert len(sizes) > 15
    for name, size in sizes.items():
        if not size:
            continue
        place, flipped = data.draw(st.integers(0, size - 1)), data.draw(st.integers(1, 255))

        def change(files, name=name, place=place, flipped=flipped):
            content = bytearray(files[name])
            content[place] ^= flipped
            return files | {name: bytes(content)}

        refusal(lambda change=change: verification.main(rezip(packed, forged, change)))


NAMES = st.text("ab ü%#?&é<'$`", min_size=1, max_size=6).filter(lambda n: n.strip() == n)


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    tables=st.dictionaries(NAMES, st.binary(max_size=40), min_size=1, max_size=4),
    data=st.dictionaries(NAMES, st.binary(max_size=40), max_size=3),
    with_data=st.booleans(),
    portable=st.booleans(),
)
def test_pack_unpack_verify_is_the_identity(
    repository, tmp_path_factory, tables, data, with_data, portable
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        (repository / "runs").mkdir(exist_ok=True)
        place = Path(tempfile.mkdtemp(dir=repository / "runs"))
        patch.chdir(place)
        keep_settings(SETTINGS, Path("results"))
        read = []
        for name, content in data.items():
            made = write(f"results/topics/{name}.npz", content)
            record(repository, "fit", read[-1:], [made], portable=portable)
            read.append(made)
        for name, content in tables.items():
            made = [write(f"results/tables/p/{name}.{f}", content) for f in ("md", "html")]
            record(repository, "make_table", read, made, settings={"name": name}, portable=portable)
        target = pack(repository, with_data=with_data)
        unpack_archive(target, place / "unpacked")
        for path in Path("results").rglob("*.*"):
            inner = place / "unpacked" / path.relative_to("results")
            if path.suffix in (".md", ".html") or (path.suffix == ".npz" and with_data):
                assert inner.read_bytes() == path.read_bytes()
        described = read_metadata(place / "unpacked" / METADATA)
        assert described.records.steps == read_records(Path("results")).steps
        assert described.portable is portable
        assert "hold" in verification.main(target)


# Again


def test_nothing_of_an_archive_runs_before_somebody_agreed(packed, tmp_path, capsys) -> None:
    line = refusal(lambda: again.main(packed, to=tmp_path / "again"))
    assert "--yes" in line and not (tmp_path / "again").exists()
    assert "make install" in capsys.readouterr().out


def test_a_table_comes_out_again_to_the_byte_and_the_command_resumes(packed, tmp_path) -> None:
    options = {"to": tmp_path / "again", "yes": True, "no_install": True, "cores": "1"}
    said = again.main(packed, "table", **options)
    assert said == "The same bytes: 1 files of table are the archive's"
    code = tmp_path / "again/code"
    assert (code / "link").is_symlink() and (code / "run me.sh").stat().st_mode & 0o111
    (code / f"runs/again/{TABLE}").write_text("other")
    made = again.compared
    described = read_metadata(tmp_path / "again" / METADATA)
    line = refusal(lambda: made(described, code / "runs/again", "table"))
    assert "not the same bytes: 1 of 1" in line and "portable" in line
    assert again.cheapest(described) == TABLE
    (code / "scripts/fit.py").write_text("edited")
    assert "fit.py: not the archive's" in refusal(lambda: again.main(packed, "table", **options))


@pytest.mark.parametrize("path", ["../victim", "/victim", "scripts", "scripts/../link", "no file"])
def test_modes_of_what_is_no_file_of_the_commit_are_refused(packed, tmp_path, path) -> None:
    unpack_archive(packed, tmp_path / "run")
    (tmp_path / "run/victim").write_text("mine")
    proof = tmp_path / "run" / COMMIT
    said = json.loads(proof.read_text())
    proof.write_text(json.dumps(said | {"modes": said["modes"] | {path: "120000"}}))
    line = refusal(lambda: proven_commit(tmp_path / "run/code", proof))
    assert line == f"{COMMIT}: {path} is no file of the commit"


# To cite


def test_a_table_is_cited_with_its_paper_and_its_data(run, capsys) -> None:
    text = citation.main(["table_claims"], run)
    assert text.count("@") == 3 and "@software{onelayer" in text
    assert "Scan and Snap" in text and "li2023topic" not in text
    assert r"Lead sections \& more" in text
    assert "author = {{Wikipedia contributors} and Doe, J. x}" in text
    assert "doi" not in text.lower()
    assert "no table or figure 'x'" in refusal(lambda: citation.main(["x"], Path("results")))


@given(st.text())
def test_no_text_breaks_bibtex(text) -> None:
    entry = bibtex(Work("k", "data", text, note=text, address=text))
    assert "\n\n" not in entry
    plain = re.sub(r"\\[{}]", "", entry)
    assert plain.count("{") == plain.count("}")


def test_a_run_is_described_where_the_package_is_not_installed() -> None:
    program = """
import importlib.metadata as metadata
installed = metadata.version
def version(name):
    if name == "onelayer":
        raise metadata.PackageNotFoundError(name)
    return installed(name)
metadata.version = version
from onelayer.report.crate.metadata import VERSION
print(VERSION)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == f"{__version__}\n", done.stderr


def test_the_citation_file_names_the_papers_that_bibtex_does() -> None:
    cited = yaml.safe_load((REPOSITORY / "CITATION.cff").read_text(encoding="utf-8"))
    for work, other in zip(WORKS.values(), cited["references"], strict=True):
        assert other["title"] == work.title and str(other.get("year", "")) == work.year
        names = [
            f"{a['family-names']}, {a['given-names']}"
            for a in other["authors"]
            if "family-names" in a
        ]
        assert tuple(names) == work.authors
        assert other.get("url", "") == work.address


# Predictions


@pytest.fixture
def predicted(tmp_path) -> Path:
    root = checkout(tmp_path)
    (root / FILE).write_text("claim,prediction\none,it falls\n")
    git(root, "add", "--all")
    at = "2026-11-01T09:00:00+0000"
    git(root, "commit", "--quiet", "--message", "Predict", GIT_COMMITTER_DATE=at)
    return root


def statuses(root: Path, started: str, commit: str = "HEAD") -> dict[str, str]:
    tables = {"one": "p/t", "two": "p/t", "three": "p/other"}
    found = read_predictions(tables, {"p/t": started}, git(root, "rev-parse", commit), root)
    return {sealed.claim: sealed.status for sealed in found}


def test_a_prediction_is_sealed_by_a_commit_older_than_the_first_step(predicted) -> None:
    assert statuses(predicted, "2026-11-01T10:00:00+00:00") == {"one": "predicted"}
    assert statuses(predicted, "2026-11-01T08:00:00+00:00") == {"one": "not predicted"}
    assert statuses(predicted, "") == {"one": "not predicted"}
    late = "2026-11-01T10:00:00+00:00"
    assert statuses(predicted, late, "HEAD~1") == {"one": "not predicted"}


def test_a_prediction_that_was_changed_or_never_committed_is_none(predicted) -> None:
    place = predicted / FILE
    place.write_text("claim,prediction\none,it rises\ntwo,x\nthree,y\n")
    late = "2026-11-01T10:00:00+00:00"
    assert statuses(predicted, late) == {"one": "not predicted", "two": "not predicted"}
    place.write_text('claim,prediction\none,it falls\n"two",x\n')
    assert statuses(predicted, late) == {"one": "predicted", "two": "not predicted"}


def test_an_archive_lists_predictions_with_the_commits_that_wrote_them(tmp_path, monkeypatch):
    root = checkout(tmp_path)
    known = [claim for claims in CLAIMS.values() for claim in claims]
    claims = [claim.name for claim in known if claim.table == "scan_snap/claims"][:2]
    text, commits = "claim,prediction\n", []
    for claim, day in zip(claims, ("01", "02"), strict=True):  # steps began on the first at ten
        text += f"{claim},it falls|\n"
        (root / FILE).write_text(text)
        git(root, "add", "--all")
        at = f"2026-11-{day}T09:00:00+0000"
        git(root, "commit", "--quiet", "--message", "Predict", GIT_COMMITTER_DATE=at)
        commits.append(git(root, "rev-parse", "HEAD"))
    (root / "runs/mine").mkdir(parents=True)
    monkeypatch.chdir(root / "runs/mine")
    make_run(root)
    target = pack(root)
    with zipfile.ZipFile(target) as archive:
        readme, graph = archive.read("README.md").decode(), json.loads(archive.read(METADATA))
    assert f"- {claims[0]}, *predicted*: it falls\\|\n" in readme
    assert f"- {claims[1]}, *not predicted*: it falls\\|\n" in readme
    kept = {e["@id"]: e.get("version") for e in graph["@graph"]}
    assert [kept[f"#predictions/{claim}"] for claim in claims] == commits
    said = verification.main(target)
    assert f"Predictions: 1 of 2; not predicted: {claims[1]}" in said


@pytest.mark.parametrize("text", ["", "claim\none\n", "claim,prediction\nfour,x\n"])
def test_a_line_that_predicts_nothing_is_one_line(predicted, text) -> None:
    (predicted / FILE).write_text(text)
    assert FILE in refusal(lambda: statuses(predicted, ""))


def test_what_the_reference_run_was_predicted_to_show_was_written_before_it() -> None:
    """A line of the file whose commit is younger than the kept run's first step is caught here."""
    from onelayer.report.comparison import REFERENCE

    machine = json.loads((REFERENCE / "machine.json").read_text(encoding="utf-8"))
    tables = {c.name: c.table for claims in CLAIMS.values() for c in claims}
    # Of what was measured since then, or is not of that run, another run says it.
    board = pd.read_csv(REFERENCE / "tables/all_papers/scoreboard.csv")
    measured = {*board.loc[board["verdict"] != "not run", "finding"]}
    made = [name for name in tables.values() if (REFERENCE / f"tables/{name}.csv").is_file()]
    started = dict.fromkeys(made, machine.get("started", ""))
    found = read_predictions(tables, started, machine["commit"])
    late = {sealed.claim for sealed in found if sealed.status != "predicted"}
    assert late & measured == set()


# The command


def test_the_command_says_one_line_and_ends_with_1(tmp_path, capsys) -> None:
    (tmp_path / "x.zip").write_bytes(b"")
    for words in (["verify"], ["again"]):
        assert onelayer([*words, str(tmp_path / "x.zip")]) == 1
        assert capsys.readouterr().err == f"onelayer: {tmp_path / 'x.zip'}: not a zip\n"
    assert onelayer(["pack", str(tmp_path / "nothing")]) == 1
    assert onelayer(["cite", "--results", str(tmp_path / "nothing")]) == 1
