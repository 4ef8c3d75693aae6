"""One whole small run: its numbers are what they were, all is there, and nothing is made twice."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import yaml

from tests.conftest import ROOT, golden_arguments, snakemake
from tests.golden_compare import GOLDEN, compared

FOLDERS = sorted(path.name for path in GOLDEN.iterdir() if path.is_dir())


@pytest.mark.parametrize("folder", FOLDERS)
def test_numbers_are_those_of_version_0_2(golden_run, folder):
    rows = compared(golden_run / "results", folder)
    off = rows[~(rows["difference"] <= rows["within"])]
    assert len(rows) > 10
    assert off.empty, off.head(20).to_string()


def test_every_claim_finds_its_row_or_says_that_it_was_not_run(golden_run):
    claims = yaml.safe_load((ROOT / "workflow/claims.yaml").read_text())
    board = pd.read_csv(golden_run / "results/tables/all_papers/scoreboard.csv")
    assert len(board) == len(claims)
    judged = board[board["verdict"] != "not run"]
    assert judged.groupby("paper").size().min() >= 5


def test_no_figure_is_empty(golden_run):
    figures = sorted((golden_run / "results/figures").rglob("*.png"))
    assert len(figures) >= 20
    for figure in figures:
        assert figure.stat().st_size > 5000, figure
        assert figure.with_suffix(".pdf").stat().st_size > 3000, figure


def test_the_report_holds_every_figure_and_opens_on_the_scoreboard(golden_run, tmp_path):
    done = snakemake(*golden_arguments(golden_run), "--report", str(tmp_path / "report.html"))
    assert done.returncode == 0, done.stdout[-4000:]
    html = (tmp_path / "report.html").read_text("utf-8")
    [start] = re.finditer(r"var results = (?=\{\"results/)", html)
    shown, end = json.JSONDecoder().raw_decode(html, start.end())
    assert "</script" not in html[start.end() : end]  # a browser would read no further
    figures = {str(f.relative_to(golden_run)) for f in golden_run.glob("results/figures/*/*.png")}
    assert set(shown) == figures | {"results/reading.html"}
    assert all(one["caption"] for one in shown.values())
    [board] = re.findall(r"var workflow_desc = .*<img .*results\['(.*?)'\]\.data_uri", html)
    assert shown[board]["data_uri"].startswith("data:image/png")
    assert (golden_run / "results/reading.html").read_text("utf-8").count("</script>") == 2


def test_a_second_run_makes_nothing(golden_run):
    done = snakemake(*golden_arguments(golden_run))
    assert "Nothing to be done" in done.stdout


def test_another_setting_reruns_only_what_it_decides(golden_run, tmp_path):
    overlay = tmp_path / "changed.yaml"
    overlay.write_text("scan_snap: {scan: {seeds: 3}}\n")
    arguments = golden_arguments(golden_run)
    arguments.insert(arguments.index("--config"), str(overlay))
    done = snakemake(*arguments, "--dry-run", "--quiet", "rules")
    assert "simulate_scan_snap" in done.stdout
    assert "train_" not in done.stdout


def test_a_clone_beside_kept_results_makes_nothing(golden_run, tmp_path):
    copy = tmp_path / "clone"
    files = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\n")
    for file in filter(None, files):
        if not file.startswith(("docs/", "tests/")) and (ROOT / file).exists():
            (copy / file).parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / file).is_symlink():
                (copy / file).symlink_to((ROOT / file).readlink())
            else:
                (copy / file).write_bytes((ROOT / file).read_bytes())
    arguments = golden_arguments(golden_run)
    arguments[3] = str(copy / "config/golden.yaml")
    done = subprocess.run(
        [sys.executable, "-m", "snakemake", *arguments, "--snakefile", str(copy / "Snakefile")],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": str(copy / "src")},
    )
    assert "Nothing to be done" in done.stdout + done.stderr


def test_the_slurm_profile_plans(tmp_path):
    done = snakemake(
        "--directory", tmp_path, "--profile", ROOT / "workflow/profiles/slurm", "--dry-run"
    )
    assert done.returncode == 0, done.stdout[-2000:]


@pytest.mark.parametrize("overlay", sorted(Path(ROOT / "config").glob("*.yaml")), ids=str)
def test_every_overlay_plans(tmp_path, overlay):
    done = snakemake(
        "--directory", tmp_path, "--configfile", overlay, "--dry-run", "--quiet", "all"
    )
    assert done.returncode == 0, done.stdout[-2000:]
